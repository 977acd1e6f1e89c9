#include "tensor/spec.h"

#include "base/error.h"

namespace plimsoll {

std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::u8: return 1;
  }
  bug("dtype out of range");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i64: return "i64";
    case DType::i32: return "i32";
    case DType::u8: return "u8";
  }
  bug("dtype out of range");
}

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::plain: return "plain";
    case Layout::blocked: return "blocked";
    case Layout::kernel: return "kernel";
    case Layout::stem_kernel: return "stem_kernel";
    case Layout::depth_kernel: return "depth_kernel";
  }
  bug("layout out of range");
}

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  for (std::int64_t dim : dims) append(dim);
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (std::int64_t dim : *this) count *= dim;
  return count;
}

void Shape::append(std::int64_t dim) {
  expect(rank_ < kMaxRank, "a shape has at most four dimensions");
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

std::int64_t Spec::stored_elements() const {
  switch (layout) {
    case Layout::plain: return shape.elements();
    case Layout::blocked: return shape[0] * round_up(shape[1], lanes) * shape[2] * shape[3];
    case Layout::kernel:
      return round_up(shape[0], lanes) * round_up(shape[1], lanes) * shape[2] * shape[3];
    case Layout::stem_kernel:
    case Layout::depth_kernel: return round_up(shape[0], lanes) * shape[1] * shape[2] * shape[3];
  }
  bug("layout out of range");
}

std::string to_string(const Spec& spec) {
  std::string text = std::string(name_of(spec.dtype)) + "[" + to_string(spec.shape) + "]";
  if (spec.layout == Layout::plain) return text;
  text += "/" + std::string(name_of(spec.layout));
  return spec.lanes == kNarrowLanes ? text : text + std::to_string(spec.lanes);
}

Spec plain(std::initializer_list<std::int64_t> dims, DType dtype) {
  return {.dtype = dtype, .shape = Shape(dims), .layout = Layout::plain};
}

Spec blocked(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, DType dtype,
             std::int64_t lanes) {
  return {.dtype = dtype, .shape = {n, c, h, w}, .layout = Layout::blocked, .lanes = lanes};
}

Spec blocked(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, const Spec& like) {
  return blocked(n, c, h, w, like.dtype, like.lanes);
}

}  // namespace plimsoll
