#include "kernels/focal.h"

#include <algorithm>
#include <cmath>

#include "kernels/simd/exp8.h"
#include "tensor/spec.h"

namespace plimsoll::kernels {
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

Vec8 lanes_of(std::uint32_t bits) {
  const Ints8 each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return floats_of8(equal8(and8(splat_ints8(bits), each), each));
}

// Slopes of one cell; adds to `loss`. The other target is the same with the sign of x turned.
template <bool focuses>
Vec8 slopes_of(const FocalRule& rule, Vec8 x, Vec8 is_positive, Vec8 counts, Sum8& loss) {
  const Vec8 sign = splat8(-0.0F);
  const Vec8 turn = unless8(is_positive, sign);
  const Vec8 z = _mm256_xor_ps(x, turn);
  const Vec8 e = exp_of_negative8(_mm256_or_ps(z, sign));
  const Vec8 log_p = sub8(min8(zero8(), z), log1p_of_unit8(e));
  const Vec8 share = div8(splat8(1.0F), add8(e, splat8(1.0F)));
  const Vec8 other = mul8(e, share);
  const Vec8 below = less8(z, zero8());
  const Vec8 p = select8(below, other, share);
  const Vec8 q = select8(below, share, other);
  Vec8 weight = select8(is_positive, splat8(rule.positive), splat8(rule.negative));
  if (focuses) weight = mul8(weight, mul8(q, q));
  loss.add(and8(counts, mul8(weight, log_p)));
  const Vec8 inner =
      focuses ? fma8(add8(p, p), log_p, _mm256_xor_ps(q, sign)) : _mm256_xor_ps(q, sign);
  return and8(counts, _mm256_xor_ps(mul8(weight, inner), turn));
}

template <bool focuses, class T>
double sum(const FocalRule& rule, const FocalBlock<T>& block) noexcept {
  const Anchors anchors(block);
  const Vec8 weight = splat8(block.weight);
  const Vec8 everything = lanes_of(anchors.all);
  Sum8 loss;
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
    const Vec8 slopes = slopes_of<focuses>(rule, load8(block.x + cell * kLanes),
                                           plain_cell ? zero8() : lanes_of(positive),
                                           plain_cell ? everything : lanes_of(counted), loss);
    store8(block.slopes + cell * kLanes, mul8(slopes, weight));
  }
  double parts[kLanes];
  loss.store(parts);
  double total = 0;
  for (const double part : parts) total -= part;
  return possible ? total : std::nan("");
}

}  // namespace

double focal_loss(const FocalRule& rule, const FocalBlock<float>& block) noexcept {
  return rule.focuses ? sum<true>(rule, block) : sum<false>(rule, block);
}
double focal_loss(const FocalRule& rule, const FocalBlock<Bf16>& block) noexcept {
  return rule.focuses ? sum<true>(rule, block) : sum<false>(rule, block);
}

}  // namespace plimsoll::kernels
