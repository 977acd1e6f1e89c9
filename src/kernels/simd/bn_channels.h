// What BatchNorm does to one block of channels, for the kernels that take it along.
#pragma once

#include "kernels/simd/vec.h"
#include "tensor/kernel.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

enum class Clamp { none, relu, relu6 };

inline Clamp clamp_of(const Attrs& attrs) {
  const std::string& word = attrs.word("activation");
  return word == "relu" ? Clamp::relu : word == "relu6" ? Clamp::relu6 : Clamp::none;
}

template <Clamp clamp>
Vec clamped(Vec v) {
  if constexpr (clamp != Clamp::none) v = max(v, zero());
  if constexpr (clamp == Clamp::relu6) v = min(v, splat(6.0F));
  return v;
}

// Calls body.template operator()<clamp>() for the runtime value.
template <class Body>
void with_clamp(Clamp clamp, Body body) {
  switch (clamp) {
    case Clamp::none: body.template operator()<Clamp::none>(); break;
    case Clamp::relu: body.template operator()<Clamp::relu>(); break;
    case Clamp::relu6: body.template operator()<Clamp::relu6>(); break;
  }
}

// Per-channel numbers of one block; lanes beyond the channels are such that zeros stay zeros.
struct BnChannels {
  Vec mean, inverse, scale, shift;  // scale = gamma / sqrt(var + eps), shift = beta - mean * scale
};

struct BnParameters {
  const float* mean;
  const float* variance;
  const float* gamma;  // null: 1
  const float* beta;   // null: 0
  float epsilon;
  std::int64_t channels;

  BnChannels block(std::int64_t cb) const {
    const std::int64_t at = cb * kLanes;
    const std::int64_t lanes = channels - at;
    const Vec inside = lane_mask(lanes);
    BnChannels c{};
    c.mean = load_part(mean + at, lanes);
    const Vec sum = add(load_part(variance + at, lanes), splat(epsilon));
    c.inverse = both(inside, div(splat(1.0F), sqrt(sum)));
    c.scale = gamma ? mul(load_part(gamma + at, lanes), c.inverse) : c.inverse;
    const Vec start = beta ? load_part(beta + at, lanes) : zero();
    c.shift = fnma(c.mean, c.scale, start);
    return c;
  }
};

// Reads the parameters that start at args.in[first]; `next`, if wanted, is the operand behind them.
inline BnParameters parameters_of(const Attrs& attrs, const Args& args, std::size_t first,
                                  std::size_t* next = nullptr) {
  BnParameters p{};
  p.channels = args.in[first].spec.shape[0];
  p.mean = args.in[first++].as<float>();
  p.variance = args.in[first++].as<float>();
  if (attrs.flag("scale")) p.gamma = args.in[first++].as<float>();
  if (attrs.flag("center")) p.beta = args.in[first++].as<float>();
  p.epsilon = static_cast<float>(attrs.real("epsilon"));
  if (next != nullptr) *next = first;
  return p;
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
