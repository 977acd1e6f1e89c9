// Zeroes, padding lanes included.
#pragma once

#include <cstring>

#include "tensor/view.h"

namespace plimsoll::kernels {

// Every stored element of `view` becomes zero; bytes between the images of a slice stay as they
// are.
inline void clear(const TensorView& view) noexcept {
  const std::int64_t size = size_of(view.spec.dtype), image = view.spec.image_elements() * size;
  if (view.is_dense()) {
    std::memset(view.data, 0, static_cast<std::size_t>(view.spec.bytes()));
    return;
  }
  for (std::int64_t n = 0; n < view.spec.shape[0]; ++n)
    std::memset(view.data + n * view.image_stride * size, 0, static_cast<std::size_t>(image));
}

}  // namespace plimsoll::kernels
