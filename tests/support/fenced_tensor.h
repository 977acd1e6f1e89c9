// Tensors for tests of kernels: filled by rule, readable as numbers, with a fence around their
// bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "graph/op.h"
#include "ops/elements.h"
#include "tensor/view.h"

namespace plimsoll {

// Calls body(T{}) with the C++ type of `dtype`.
template <class Body>
void for_dtype(DType dtype, Body body) {
  switch (dtype) {
    case DType::f32: return body(float{});
    case DType::bf16: return body(Bf16{});
    case DType::f64: return body(double{});
    case DType::i64: return body(std::int64_t{});
    case DType::i32: return body(std::int32_t{});
    case DType::u8: return body(std::uint8_t{});
    case DType::f16: break;
  }
  bug("no test computes with this type");
}

inline bool is_real(DType dtype) { return widened(dtype) == DType::f32 || dtype == DType::f64; }

// The stored elements of `view` in memory order, its own type widened, padding lanes included.
inline std::vector<double> stored_elements(const TensorView& view) {
  std::vector<double> elements;
  const std::int64_t images = view.is_dense() ? 1 : view.spec.shape[0];
  const std::int64_t length = view.spec.stored_elements() / images;
  for_dtype(view.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < images; ++n)
      for (std::int64_t i = 0; i < length; ++i)
        elements.push_back(static_cast<double>(view.image<T>(n)[i]));
  });
  return elements;
}

// The elements a user sees, row-major over the logical dimensions.
inline std::vector<double> logical_elements(const TensorView& view) {
  std::vector<double> elements;
  for_dtype(view.spec.dtype, [&]<class T>(T) {
    ops::for_each_element(view.spec, [&](auto a, auto b, auto c, auto d) {
      elements.push_back(static_cast<double>(view.at<T>(a, b, c, d)));
    });
  });
  return elements;
}

// Writes what logical_elements reads; padding lanes become zero.
inline void put_elements(const TensorView& view, const std::vector<double>& elements) {
  for_dtype(view.spec.dtype, [&]<class T>(T) {
    // Only images can lie apart; weights are one piece of memory.
    const bool is_image = view.spec.layout == Layout::plain || view.spec.layout == Layout::blocked;
    const std::int64_t images = view.is_dense() || !is_image ? 1 : view.spec.shape[0];
    for (std::int64_t n = 0; n < images; ++n)
      std::fill_n(view.image<T>(n), view.spec.stored_elements() / images, T(0));
    std::size_t next = 0;
    ops::for_each_element(view.spec, [&](auto a, auto b, auto c, auto d) {
      view.at<T>(a, b, c, d) = static_cast<T>(elements[next++]);
    });
  });
}

// Element `i` of rows of `width` that begin with a box on a canvas of `limit` pixels: corners at
// integers, then a score, then a group.
inline double row_value(std::uint64_t key, std::int64_t i, std::int64_t width, double limit) {
  const auto draw = [&](std::int64_t column) {
    const std::int64_t element = i / width * width + column;
    return (static_cast<double>(philox(key, static_cast<std::uint64_t>(element))[0]) + 0.5) *
           0x1p-32;
  };
  const std::int64_t column = i % width;
  const auto corner = [&](std::int64_t axis) { return std::floor(0.7 * limit * draw(axis)); };
  if (column < 2) return corner(column);
  if (column < 4) return corner(column - 2) + 1 + std::floor(0.3 * limit * draw(column));
  return column == 4 ? draw(column) : std::floor(3 * draw(column));
}

// Values for an input of a sample, exact in its type and in a float; the same for the same key.
inline std::vector<double> sample_values(const SampleInput& input, std::uint64_t key) {
  using Fill = SampleInput::Fill;
  std::vector<double> values;
  for (std::int64_t i = 0; i < input.spec.shape.elements(); ++i) {
    const PhiloxBlock draw = philox(key, static_cast<std::uint64_t>(i));
    const double u = (static_cast<double>(draw[0]) + 0.5) * 0x1p-32;
    const double v = (static_cast<double>(draw[1]) + 0.5) * 0x1p-32;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    const double made[] = {normal,
                           0.2 + 2 * u,
                           std::floor(u * static_cast<double>(input.limit)),
                           0.02 + 0.96 * u,
                           std::floor(u * 5),
                           0.0,
                           1.0,
                           row_value(key, i, 4, static_cast<double>(input.limit)),
                           row_value(key, i, 6, static_cast<double>(input.limit)),
                           std::floor(0.5 * (1 + u) * static_cast<double>(input.limit)),
                           std::floor(u * static_cast<double>(input.limit + 2)) - 2};
    static_assert(static_cast<int>(Fill::normal) == 0 && static_cast<int>(Fill::match) == 10);
    const auto value = static_cast<float>(made[static_cast<int>(input.fill)]);
    const bool is_short = input.spec.dtype == DType::bf16;
    values.push_back(static_cast<double>(is_short ? static_cast<float>(Bf16(value)) : value));
  }
  return values;
}

// Owns the bytes of one tensor, in the middle of others that nobody may touch: 64 bytes at both
// ends and, for a slice, a block of channels before and behind it in every image. Everything starts
// as the fence does, a byte that makes huge numbers, so that what a kernel forgets to write is
// seen.
class FencedTensor {
 public:
  static constexpr std::byte kFence{0x7F};

  // `shift` moves the data by that many bytes; `sliced` makes a blocked tensor a slice of a wider
  // one.
  FencedTensor(const Spec& spec, std::int64_t shift, bool sliced) {
    const std::int64_t size = size_of(spec.dtype);
    std::int64_t border = 0;
    if (sliced && spec.layout == Layout::blocked)
      border = spec.lanes * spec.shape[2] * spec.shape[3];
    const std::int64_t stride = spec.image_elements() + 2 * border;
    // Weights pad their first dimension too, so they are larger than their images together.
    const std::int64_t elements = std::max(spec.shape[0] * stride, spec.stored_elements());
    bytes_ = kEnd + shift + elements * size + kEnd;
    memory_.reset(new (std::align_val_t{4096}) std::byte[static_cast<std::size_t>(bytes_)]);
    std::memset(memory_.get(), std::to_integer<int>(kFence), static_cast<std::size_t>(bytes_));
    view_ = {memory_.get() + kEnd + shift + border * size, spec, stride};
  }

  const TensorView& view() const { return view_; }

  // The bytes of the tensor itself, without what lies between the images of a slice.
  std::vector<std::byte> content() const {
    std::vector<std::byte> bytes;
    over_pieces([&](const std::byte* begin, std::int64_t count, bool inside) {
      if (inside) bytes.insert(bytes.end(), begin, begin + count);
    });
    return bytes;
  }

  bool fence_stands() const {
    bool stands = true;
    over_pieces([&](const std::byte* begin, std::int64_t count, bool inside) {
      for (std::int64_t i = 0; i < count && !inside; ++i) stands = stands && begin[i] == kFence;
    });
    return stands;
  }

 private:
  static constexpr std::int64_t kEnd = 64;

  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{4096});
    }
  };

  // body(begin, bytes, whether they belong to the tensor) for all memory, in order.
  template <class Body>
  void over_pieces(Body body) const {
    const Spec& spec = view_.spec;
    const bool whole = view_.is_dense();
    const std::int64_t images = whole ? 1 : spec.shape[0];
    const std::int64_t length = spec.bytes() / images;
    const std::byte* at = memory_.get();
    for (std::int64_t n = 0; n < images; ++n) {
      const std::byte* image = view_.data + n * view_.image_stride * size_of(spec.dtype);
      body(at, image - at, false);
      body(image, length, true);
      at = image + length;
    }
    body(at, memory_.get() + bytes_ - at, false);
  }

  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t bytes_ = 0;
  TensorView view_;
};

}  // namespace plimsoll
