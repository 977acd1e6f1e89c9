// What a tensor is: element type, logical shape, and how its elements lie in memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i64, i32, u8 };

std::int64_t size_of(DType dtype);
std::string_view name_of(DType dtype);

// The type of what stands beside an image tensor of `dtype`: parameters, sums, statistics,
// matrices, losses. bf16 is for images alone; beside them everything is f32.
constexpr DType widened(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

// How the elements of a logical [N, C, H, W] or [O, I, H, W] tensor are stored: in blocks of
// Spec::lanes (L) channels, of which there are C rounded up to whole blocks. Lanes that only fill
// up a block are zero in every tensor, always: kernels may rely on it and must keep it so.
enum class Layout : std::uint8_t {
  plain,         // row-major over the logical dimensions
  blocked,       // activations, [N][C/L][H][W][Lc]
  kernel,        // convolution weights, [O/L][I/L][H][W][Li][Lo]
  stem_kernel,   // weights that read a plain image of few channels, [O/L][H][W][I][Lo]
  depth_kernel,  // depthwise weights [C, 1, H, W], stored [C/L][H][W][Lc]
};

std::string_view name_of(Layout layout);

// What the lanes of a block can be: powers of two. A run has one of them, as its instructions have
// it.
inline constexpr std::int64_t kNarrowLanes = 8;
inline constexpr std::int64_t kWideLanes = 16;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

// Up to four dimensions, each at least 1. A scalar has rank 1 and one element.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t elements() const;
  void append(std::int64_t dim);
  bool operator==(const Shape&) const = default;

  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);  // "32x64x35x35"

struct Spec {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout = Layout::plain;
  std::int64_t lanes = kNarrowLanes;  // of a block; means nothing where the layout is plain
  bool operator==(const Spec& other) const {
    return dtype == other.dtype && shape == other.shape && layout == other.layout &&
           (layout == Layout::plain || lanes == other.lanes);
  }

  std::int64_t stored_elements() const;  // padding lanes included
  std::int64_t bytes() const { return stored_elements() * size_of(dtype); }

  // Blocks of channels of an image.
  std::int64_t blocks() const { return (shape[1] + lanes - 1) / lanes; }

  // Stored elements of one index of the first dimension, in a tensor that is dense.
  std::int64_t image_elements() const { return stored_elements() / shape[0]; }

  // Position of a logical element in a dense tensor, in elements. Axes beyond the rank are 0.
  std::int64_t offset(std::int64_t a, std::int64_t b = 0, std::int64_t c = 0,
                      std::int64_t d = 0) const;
};

// Shifts for divisions, and inline: reference kernels ask for every element.
inline std::int64_t Spec::offset(std::int64_t a, std::int64_t b, std::int64_t c,
                                 std::int64_t d) const {
  const int shift = std::countr_zero(static_cast<std::uint64_t>(lanes));
  const std::int64_t rest = lanes - 1;
  const auto cell = [&](std::int64_t plane) { return (plane * shape[2] + c) * shape[3] + d; };
  switch (layout) {
    case Layout::plain: {
      const std::int64_t index[] = {a, b, c, d};
      std::int64_t at = 0;
      for (int axis = 0; axis < shape.rank(); ++axis) at = at * shape[axis] + index[axis];
      return at;
    }
    case Layout::blocked:
      return (cell(a * ((shape[1] + rest) >> shift) + (b >> shift)) << shift) + (b & rest);
    case Layout::kernel: {
      const std::int64_t plane = (a >> shift) * ((shape[1] + rest) >> shift) + (b >> shift);
      return (((cell(plane) << shift) + (b & rest)) << shift) + (a & rest);
    }
    case Layout::stem_kernel: return ((cell(a >> shift) * shape[1] + b) << shift) + (a & rest);
    case Layout::depth_kernel: return (cell(a >> shift) << shift) + (a & rest);
  }
  bug("layout out of range");
}

// "f32[32x64x35x35]/blocked", with 16 lanes "/blocked16"; plain has no suffix.
std::string to_string(const Spec& spec);

// Shorthands for the common cases.
Spec plain(std::initializer_list<std::int64_t> dims, DType dtype = DType::f32);
Spec blocked(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
             DType dtype = DType::f32, std::int64_t lanes = kNarrowLanes);
// Of the element type and the lanes of another.
Spec blocked(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, const Spec& like);

}  // namespace plimsoll
