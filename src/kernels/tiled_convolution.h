// Convolutions by tiles, stride 1, all three passes: Winograd's and Cook-Toom's algorithms
// (cook_toom.h), a third to a half of the time of direct convolution for 3x3, 5x5, and 3 or 7 taps
// in one direction; Strassen's for one tap. Bits do not depend on the number of threads.
#pragma once

#include <memory>

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// Kernels of the ops conv2d(x, w[, b]), conv2d_grad_input(dy, w), conv2d_grad_kernel(x, dy). Null
// for shapes that are faster without.
std::unique_ptr<Job> prepare_tiled_forward(const Call& call);
std::unique_ptr<Job> prepare_tiled_grad_input(const Call& call);
std::unique_ptr<Job> prepare_tiled_grad_kernel(const Call& call);

// The kernel of conv2d_grad_kernel for one tap without strides, cells for tiles. Images in bf16 are
// multiplied as they are, and only where the processor does that (avx512_bf16); null for others.
std::unique_ptr<Job> prepare_point_grad_kernel(const Call& call);

// Kernels of all three for one tap without strides, by Strassen's algorithm: seven products of
// blocks instead of eight. Null where oneDNN's eight are faster, and where bf16 is multiplied.
std::unique_ptr<Job> prepare_strassen_forward(const Call& call);
std::unique_ptr<Job> prepare_strassen_grad_input(const Call& call);
std::unique_ptr<Job> prepare_strassen_grad_kernel(const Call& call);

}  // namespace plimsoll::kernels
