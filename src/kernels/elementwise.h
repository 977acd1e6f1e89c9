// Kernels that touch every element once, in f32. All honour image_stride and keep padding lanes
// zero.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/kernel.h"

namespace plimsoll::kernels {

enum class Curve : std::uint8_t { relu, relu6, leaky_relu, sigmoid, swish, tanh };
std::optional<Curve> find_curve(std::string_view name);

// attrs kind, alpha. in: x; out: y.
void activation(const Attrs& attrs, const Args& args) noexcept;
// in: dy, saved; out: dx.
void activation_grad(const Attrs& attrs, const Args& args) noexcept;
// attrs last_factor. in: terms; out: their sum, the last times the factor.
void add(const Attrs& attrs, const Args& args) noexcept;

// Sets the lanes beyond the channels of a blocked tensor to zero; nothing for other layouts.
void clear_padding(const TensorView& view) noexcept;

}  // namespace plimsoll::kernels
