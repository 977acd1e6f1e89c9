// Normalising a channel by its statistics: the attributes, operands and reference that the ops
// which do it share. Operands are mean, variance, [gamma], [beta].
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "ops/rules.h"

namespace plimsoll::ops {

inline std::vector<AttrSchema> normalisation_schema() {
  return {{"epsilon", 1e-3, "added to the variance"},
          {"scale", std::int64_t{1}, "1: gamma is given"},
          {"center", std::int64_t{1}, "1: beta is given"},
          {"activation", std::string("none"), "none, relu or relu6"}};
}

inline std::size_t parameter_count(const Attrs& attrs) {
  return 2 + static_cast<std::size_t>(attrs.flag("scale")) +
         static_cast<std::size_t>(attrs.flag("center"));
}

inline void check_parameters(const Attrs& attrs, std::span<const Spec> in, std::size_t first,
                             std::int64_t channels) {
  const std::string& activation = attrs.word("activation");
  if (activation != "none" && activation != "relu" && activation != "relu6")
    refuse("activation is '" + activation + "'", "none, relu or relu6 is needed");
  for (std::size_t i = 0; i < parameter_count(attrs); ++i)
    check_vector(in[first + i], channels, "a parameter");
}

template <class T>
T clamped(const std::string& activation, T v) {
  if (activation == "none") return v;
  if (activation == "relu6" && v > 6) return T(6);
  return v > 0 ? v : T(0);
}

// Whether a gradient gets past the activation, by the value before or behind it.
template <class T>
bool passes(const std::string& activation, T v) {
  return activation == "none" || (v > 0 && (activation != "relu6" || v < 6));
}

template <class Body>
void over_pixels(const Shape& s, Body body) {
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t h = 0; h < s[2]; ++h)
      for (std::int64_t w = 0; w < s[3]; ++w) body(n, h, w);
}

// Parameters of channel c, from the operands that start at `first`.
template <class T>
struct Channel {
  T mean, inverse, gamma, beta;
  Channel(const Attrs& attrs, const Args& args, std::size_t first, std::int64_t c) {
    mean = args.in[first].at<T>(c);
    inverse = 1 / std::sqrt(args.in[first + 1].at<T>(c) + static_cast<T>(attrs.real("epsilon")));
    std::size_t next = first + 2;
    gamma = attrs.flag("scale") ? args.in[next++].at<T>(c) : T(1);
    beta = attrs.flag("center") ? args.in[next].at<T>(c) : T(0);
  }
};

}  // namespace plimsoll::ops
