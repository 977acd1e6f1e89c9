// One number per channel of an image: mean or maximum over all its cells.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops global_pool(x) -> y and global_pool_grad(dy[, x, y]) -> dx. y is plain [N, C] or blocked
// [N, C, 1, 1]; images may be slices.
void global_pool(const Attrs& attrs, const Args& args) noexcept;
void global_pool_grad(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
