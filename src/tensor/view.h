// A window on somebody's bytes: never owns, cheap to copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll {

// Elements of `spec` starting at `data`. Images (indices of the first dimension) lie `image_stride`
// elements apart; within an image the layout is dense. A channel slice of a blocked tensor is such
// a view: only its image_stride differs from a dense tensor's.
struct TensorView {
  std::byte* data = nullptr;
  Spec spec;
  std::int64_t image_stride = 0;

  bool is_dense() const { return image_stride == spec.image_elements(); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  T* image(std::int64_t n) const {
    return as<T>() + n * image_stride;
  }
  // One logical element, by any layout; for reference kernels, not for speed.
  template <class T>
  T& at(std::int64_t a, std::int64_t b = 0, std::int64_t c = 0, std::int64_t d = 0) const {
    if (spec.layout == Layout::plain || spec.layout == Layout::blocked)
      return as<T>()[a * image_stride + spec.offset(0, b, c, d)];
    return as<T>()[spec.offset(a, b, c, d)];
  }
};

}  // namespace plimsoll
