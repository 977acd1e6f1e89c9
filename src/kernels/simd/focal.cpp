#include "kernels/focal.h"

#include <algorithm>
#include <cmath>

#include "kernels/simd/exp.h"
#include "tensor/spec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// Lanes that belong to one anchor.
struct Lanes {
  const std::int32_t* match = nullptr;
  std::int64_t first = 0;        // lane
  std::int64_t end = 0;          // lane
  std::int64_t first_class = 0;  // of the first lane
  std::uint32_t bits() const { return (1U << end) - (1U << first); }
};

struct Anchors {
  template <class T>
  explicit Anchors(const FocalBlock<T>& block) {
    std::int64_t channel = block.first_channel;
    const std::int64_t end = std::min(channel + kLanes, block.channels);
    while (channel < end) {
      const std::int64_t anchor = channel / block.classes;
      const std::int64_t next = std::min(end, (anchor + 1) * block.classes);
      lanes[count++] = {.match = block.match + anchor * block.cells,
                        .first = channel - block.first_channel,
                        .end = next - block.first_channel,
                        .first_class = channel % block.classes};
      channel = next;
    }
    all = (1U << (end - block.first_channel)) - 1;
  }
  Lanes lanes[kLanes];
  int count = 0;
  std::uint32_t all = 0;  // lanes that are channels
};

// Slopes of one cell; adds to `loss`. The other target is the same with the sign of x turned.
template <bool focuses>
Vec slopes_of(const FocalRule& rule, Vec x, Vec is_positive, Vec counts, LaneSums& loss) {
  const Vec sign = splat(-0.0F);
  const Vec turn = unless(is_positive, sign);
  const Vec z = differing(x, turn);
  const Vec e = exp_of_negative(either(z, sign));
  const Vec log_p = sub(min(zero(), z), log1p_of_unit(e));
  const Vec share = div(splat(1.0F), add(e, splat(1.0F)));
  const Vec other = mul(e, share);
  const Vec below = less(z, zero());
  const Vec p = select(below, other, share);
  const Vec q = select(below, share, other);
  Vec weight = select(is_positive, splat(rule.positive), splat(rule.negative));
  if (focuses) weight = mul(weight, mul(q, q));
  loss.add(both(counts, mul(weight, log_p)));
  const Vec inner = focuses ? fma(add(p, p), log_p, differing(q, sign)) : differing(q, sign);
  return both(counts, differing(mul(weight, inner), turn));
}

template <bool focuses, class T>
double sum(const FocalRule& rule, const FocalBlock<T>& block) noexcept {
  const Anchors anchors(block);
  const Vec weight = splat(block.weight);
  const Vec everything = lanes_of(anchors.all);
  LaneSums loss;
  bool possible = true;
  for (std::int64_t cell = 0; cell < block.cells; ++cell) {
    std::uint32_t counted = anchors.all;
    std::uint32_t positive = 0;
    for (int a = 0; a < anchors.count; ++a) {
      const Lanes& lanes = anchors.lanes[a];
      const std::int32_t found = lanes.match[cell];
      if (found == -1) continue;
      if (found < 0) {
        counted &= ~lanes.bits();
        continue;
      }
      const std::int64_t label = block.labels == nullptr ? 0
                                 : found < block.boxes   ? block.labels[found]
                                                         : -1;
      possible = possible && label >= 0 && label < block.classes;
      const std::int64_t lane = label - lanes.first_class + lanes.first;
      if (lane >= lanes.first && lane < lanes.end) positive |= 1U << lane;
    }
    const bool plain_cell = positive == 0 && counted == anchors.all;
    const Vec slopes = slopes_of<focuses>(rule, load(block.x + cell * kLanes),
                                          plain_cell ? zero() : lanes_of(positive),
                                          plain_cell ? everything : lanes_of(counted), loss);
    store(block.slopes + cell * kLanes, mul(slopes, weight));
  }
  double parts[kLanes];
  loss.store(parts);
  double total = 0;
  for (const double part : parts) total -= part;
  return possible ? total : std::nan("");
}

}  // namespace

double focal_floats(const FocalRule& rule, const FocalBlock<float>& block) noexcept {
  return rule.focuses ? sum<true>(rule, block) : sum<false>(rule, block);
}
double focal_shorts(const FocalRule& rule, const FocalBlock<Bf16>& block) noexcept {
  return rule.focuses ? sum<true>(rule, block) : sum<false>(rule, block);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
