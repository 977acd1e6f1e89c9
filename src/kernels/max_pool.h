// Maxima of sliding windows over blocked images.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops max_pool(x) -> y[, positions] and max_pool_grad(dy, positions) -> dx. Slices are served.
void max_pool(const Attrs& attrs, const Args& args) noexcept;
void max_pool_grad(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
