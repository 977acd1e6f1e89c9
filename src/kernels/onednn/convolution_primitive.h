// A convolution in oneDNN's words: how our layouts are called there, and who computes which pass.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/onednn/primitive.h"

namespace plimsoll::kernels::onednn {

enum class Pass { forward, grad_input, grad_kernel };

// Of one tap: oneDNN has code of its own for these.
inline bool is_point(const ConvolutionShape& s) {
  return s.window.h.kernel == 1 && s.window.w.kernel == 1;
}

// Whether the input's gradient is computed as a convolution forward, from the output's gradient
// with the weights turned: for one tap and step by step it is one, and oneDNN's code for that is
// the faster one in f32.
bool turns_forward(const ConvolutionShape& s);

// Not compiled yet. What it is run with, in this order: forward x, weights, y[, bias]; grad_input
// dy, weights (turned), dx; grad_kernel x, dy, dw. Null where oneDNN has only slow code.
std::unique_ptr<Primitive> make_primitive(const ConvolutionShape& s, Pass pass,
                                          std::int64_t images);

}  // namespace plimsoll::kernels::onednn
