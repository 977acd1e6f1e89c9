// One convolution, whichever pass of it is wanted and whoever computes it.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/window.h"
#include "tensor/kernel.h"

namespace plimsoll::kernels {

// Channels as they are stored: whole blocks of `lanes`, except those of a plain image.
struct ConvolutionShape {
  std::int64_t lanes = kNarrowLanes;
  std::int64_t images = 1;
  std::int64_t channels = 8;
  std::int64_t filters = 8;
  std::int64_t groups = 1;
  Window window;
  bool plain_input = false;  // reads a plain image, with stem_kernel weights
  std::int64_t bias = 0;     // length of the bias, 0: none
  bool is_short = false;     // images are bf16, before and after
  // Of those: multiplied as they are, by instructions that the processor has for it.
  bool multiplies_short = false;

  // Elements of one image before and after, and of the weights.
  std::int64_t input_image() const { return channels * window.h.in * window.w.in; }
  std::int64_t output_image() const { return filters * window.h.out * window.w.out; }
  std::int64_t weights() const {
    return filters * (channels / groups) * window.h.kernel * window.w.kernel;
  }
};

// `x` and `y` are the images before and after, or gradients of them. Empty unless all operands are
// dense, in f32 or with images in bf16, and the weights lie in blocks.
inline std::optional<ConvolutionShape> read_convolution(const Call& call, const Spec& x,
                                                        const Spec& w, const Spec& y) {
  for (const auto& operands : {call.in, call.out})
    for (const Operand& operand : operands)
      if (widened(operand.spec.dtype) != DType::f32 || !operand.dense) return std::nullopt;
  if (w.layout == Layout::plain) return std::nullopt;
  const bool plain_input = x.layout == Layout::plain;
  return ConvolutionShape{
      .lanes = y.lanes,
      .images = x.shape[0],
      .channels = plain_input ? x.shape[1] : round_up(x.shape[1], y.lanes),
      .filters = round_up(y.shape[1], y.lanes),
      .groups = call.attrs.integer("groups"),
      .window = read_window(call.attrs, x.shape, y.shape, w.shape[2], w.shape[3]),
      .plain_input = plain_input,
      .is_short = x.dtype == DType::bf16,
  };
}

// The same for each of the ops conv2d(x, w[, b]), conv2d_grad_input(dy, w), conv2d_grad_kernel(x,
// dy).
inline std::optional<ConvolutionShape> read_forward(const Call& call) {
  auto shape = read_convolution(call, call.in[0].spec, call.in[1].spec, call.out[0].spec);
  if (shape && call.in.size() > 2) shape->bias = call.in[2].spec.shape[0];
  return shape;
}
inline std::optional<ConvolutionShape> read_grad_input(const Call& call) {
  return read_convolution(call, call.out[0].spec, call.in[1].spec, call.in[0].spec);
}
inline std::optional<ConvolutionShape> read_grad_kernel(const Call& call) {
  return read_convolution(call, call.in[0].spec, call.out[0].spec, call.in[1].spec);
}

}  // namespace plimsoll::kernels
