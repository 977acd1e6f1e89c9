// What BatchNorm does to one block of channels, for the kernels that take it along.
#pragma once

#include "kernels/simd/vec8.h"
#include "tensor/kernel.h"

namespace plimsoll::kernels {

enum class Clamp { none, relu, relu6 };

inline Clamp clamp_of(const Attrs& attrs) {
  const std::string& word = attrs.word("activation");
  return word == "relu" ? Clamp::relu : word == "relu6" ? Clamp::relu6 : Clamp::none;
}

template <Clamp clamp>
Vec8 clamped(Vec8 v) {
  if constexpr (clamp != Clamp::none) v = max8(v, zero8());
  if constexpr (clamp == Clamp::relu6) v = min8(v, splat8(6.0F));
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
  Vec8 mean, inverse, scale, shift;  // scale = gamma / sqrt(var + eps), shift = beta - mean * scale
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
    const Vec8 inside = lane_mask8(lanes);
    BnChannels c{};
    c.mean = load_part8(mean + at, lanes);
    const Vec8 sum = add8(load_part8(variance + at, lanes), splat8(epsilon));
    c.inverse = and8(inside, div8(splat8(1.0F), sqrt8(sum)));
    c.scale = gamma ? mul8(load_part8(gamma + at, lanes), c.inverse) : c.inverse;
    const Vec8 start = beta ? load_part8(beta + at, lanes) : zero8();
    c.shift = fnma8(c.mean, c.scale, start);
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

}  // namespace plimsoll::kernels
