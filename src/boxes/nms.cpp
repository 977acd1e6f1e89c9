#include "boxes/nms.h"

#include <algorithm>
#include <numeric>

#include "boxes/overlap.h"

namespace plimsoll::boxes {

template <class T>
std::int64_t suppress(std::span<const Candidate<T>> candidates, double threshold,
                      std::span<std::int32_t> order, std::span<std::int32_t> kept) {
  const auto at = [&](std::int32_t i) -> const Candidate<T>& {
    return candidates[static_cast<std::size_t>(i)];
  };
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return ranks_before(at(a).score, a, at(b).score, b);
  });
  std::size_t count = 0;
  for (const std::int32_t one : order) {
    if (count == kept.size()) break;
    const Candidate<T>& candidate = at(one);
    const T area = area_of(candidate.box);
    const bool stays = std::none_of(
        kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(count), [&](std::int32_t other) {
          const Candidate<T>& surer = at(other);
          return surer.group == candidate.group &&
                 static_cast<double>(overlap(surer.box, area_of(surer.box), candidate.box, area)) >
                     threshold;
        });
    if (stays) kept[count++] = one;
  }
  return static_cast<std::int64_t>(count);
}

template std::int64_t suppress(std::span<const Candidate<float>>, double, std::span<std::int32_t>,
                               std::span<std::int32_t>);
template std::int64_t suppress(std::span<const Candidate<double>>, double, std::span<std::int32_t>,
                               std::span<std::int32_t>);

}  // namespace plimsoll::boxes
