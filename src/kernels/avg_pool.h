// Means of sliding windows over blocked images; padding does not count.
#pragma once

#include <memory>

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops avg_pool(x) -> y and avg_pool_grad(dy) -> dx. Slices are served.
void avg_pool(const Attrs& attrs, const Args& args) noexcept;
std::unique_ptr<Job> prepare_avg_pool_grad(const Call& call);

}  // namespace plimsoll::kernels
