// Means of sliding windows over blocked images; padding does not count.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops avg_pool(x) -> y and avg_pool_grad(dy) -> dx. Slices are served.
void avg_pool(const Attrs& attrs, const Args& args) noexcept;
void avg_pool_grad(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
