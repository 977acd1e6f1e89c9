// Convolutions served by oneDNN's generated code, all three passes, on blocked tensors.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/convolution_shape.h"

namespace plimsoll::kernels::onednn {

// No tensor that oneDNN is given may be larger: its offsets are 32 bits wide.
inline constexpr std::int64_t kMostBytes = (std::int64_t{1} << 31) - 1;

// Jobs for a batch that is worked off in parts of at most `most_bytes` a tensor. Null when oneDNN
// has only slow code for the shape.
std::unique_ptr<Job> make_forward(const ConvolutionShape& shape,
                                  std::int64_t most_bytes = kMostBytes);
std::unique_ptr<Job> make_grad_input(const ConvolutionShape& shape,
                                     std::int64_t most_bytes = kMostBytes);
std::unique_ptr<Job> make_grad_kernel(const ConvolutionShape& shape,
                                      std::int64_t most_bytes = kMostBytes);

// The kernels of the ops conv2d(x, w[, b]), conv2d_grad_input(dy, w), conv2d_grad_kernel(x, dy).
std::unique_ptr<Job> prepare_forward(const Call& call);
std::unique_ptr<Job> prepare_grad_input(const Call& call);
std::unique_ptr<Job> prepare_grad_kernel(const Call& call);

// The same of images in bf16 by products of bf16, where the processor has them (avx512_bf16);
// weights are rounded to bf16 in scratch, sums are f32.
std::unique_ptr<Job> prepare_short_forward(const Call& call);
std::unique_ptr<Job> prepare_short_grad_input(const Call& call);
std::unique_ptr<Job> prepare_short_grad_kernel(const Call& call);

}  // namespace plimsoll::kernels::onednn
