// BatchNorm over blocked tensors in f32 or bf16: statistics, application and gradient. All honour
// image_stride, split work by channel block and add up images in order, so results do not depend on
// thread count.
#pragma once

#include "tensor/kernel.h"

namespace plimsoll::kernels {

// in: y; out: mean [C], biased variance [C]; packed: y, which is dense then.
void bn_stats(const Attrs& attrs, const Args& args) noexcept;

// in: y, mean, variance, [gamma], [beta], [residual]; out: z = act(scale * y + shift + residual).
void bn_apply(const Attrs& attrs, const Args& args) noexcept;

// in: dz x terms, y, mean, variance, [gamma], [beta], [z]; out: dy, [dgamma], [dbeta], [dresidual];
// with `sums` both sums whatever the parameters are.
void bn_grad(const Attrs& attrs, const Args& args) noexcept;

// in: dy, y, along, total, mean, variance, [gamma]; out: dy less its way through the statistics.
void bn_centre(const Attrs& attrs, const Args& args) noexcept;

// in: dz x terms, mean, variance, [gamma], [beta], [z]; out: dy, [dresidual].
void constant_norm_grad(const Attrs& attrs, const Args& args) noexcept;

}  // namespace plimsoll::kernels
