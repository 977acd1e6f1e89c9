// Kernels that know no bf16, for tensors that are.
#pragma once

#include <memory>

#include "tensor/kernel.h"

namespace plimsoll {

// A job of `kernel` over copies in f32 of the operands that are bf16, which lie in scratch; results
// are rounded once. Null if the kernel cannot do the call in f32 either.
std::unique_ptr<Job> make_through_f32(const Kernel& kernel, const Call& call);

}  // namespace plimsoll
