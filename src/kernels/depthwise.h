// Convolutions of each channel by itself, all three passes, on blocked images.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// The ops depthwise_conv2d(x, w), depthwise_conv2d_grad_input(dy, w[, x]) and
// depthwise_conv2d_grad_kernel(x, dy). Any window; 3x3 is the fast one. Slices are served. With
// input_activation=relu, x is rectified as it is loaded.
void depthwise(const Attrs& attrs, const Args& args) noexcept;
void depthwise_grad_input(const Attrs& attrs, const Args& args) noexcept;
void depthwise_grad_kernel(const Attrs& attrs, const Args& args) noexcept;

// The ops bn_depthwise_conv2d(x, w, mean, variance, [gamma], [beta]) and
// bn_depthwise_conv2d_grad_kernel(x, dy, mean, variance, [gamma], [beta]): x is normalised as it is
// loaded, to the bits that bn_apply would have stored.
void bn_depthwise(const Attrs& attrs, const Args& args) noexcept;
void bn_depthwise_grad_kernel(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
