// Sums over everything but the channels.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// [N, C, H, W] blocked or [N, C] plain -> [C]. Runs of cells are summed in f32, the runs in f64, in
// the order of memory whatever the thread count. Slices are served.
void channel_sum(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
