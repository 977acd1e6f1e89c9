// Images enlarged by repeating cells.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops upsample(x) -> y and upsample_grad(dy) -> dx. Slices are served.
void upsample(const Attrs& attrs, const Args& args) noexcept;
void upsample_grad(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
