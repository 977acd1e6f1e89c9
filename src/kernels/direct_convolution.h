// Convolutions of every shape in plain AVX2: what oneDNN has no fast code for (dilated weight
// gradients, grey images, uneven strides) runs at some tenths of the peak instead of a thousandth.
#pragma once

#include <memory>

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The kernels of the ops conv2d(x, w[, b]), conv2d_grad_input(dy, w), conv2d_grad_kernel(x, dy).
// Null where groups split blocks of channels.
std::unique_ptr<Job> prepare_direct_forward(const Call& call);
std::unique_ptr<Job> prepare_direct_grad_input(const Call& call);
std::unique_ptr<Job> prepare_direct_grad_kernel(const Call& call);

}  // namespace plimsoll::kernels
