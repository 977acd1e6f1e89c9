#include "plan/place.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace plimsoll {
namespace {

using Order = std::vector<std::size_t>;

double area(const Block& block) {
  return static_cast<double>(block.bytes) * (block.last - block.first + 1);
}

// Puts each block, in the given order, into the gap it fills best among those placed before it.
Placement place_in_order(std::span<const Block> blocks, const Order& order, bool best_fit) {
  Placement result{.offset = std::vector<std::int64_t>(blocks.size(), 0), .top = 0};
  Order by_offset;  // placed blocks, lowest first
  for (std::size_t index : order) {
    const Block& block = blocks[index];
    if (block.bytes == 0) continue;
    std::int64_t best = -1;
    std::int64_t best_gap = 0;
    std::int64_t free_from = 0;
    for (std::size_t other : by_offset) {
      const Block& placed = blocks[other];
      if (placed.last < block.first || block.last < placed.first) continue;
      const std::int64_t gap = result.offset[other] - free_from;
      if (gap >= block.bytes && (best < 0 || gap < best_gap)) {
        best = free_from;
        best_gap = gap;
        if (!best_fit) break;
      }
      free_from = std::max(free_from, result.offset[other] + placed.bytes);
    }
    result.offset[index] = best < 0 ? free_from : best;
    result.top = std::max(result.top, result.offset[index] + block.bytes);
    const auto at = std::upper_bound(
        by_offset.begin(), by_offset.end(), index,
        [&](std::size_t a, std::size_t b) { return result.offset[a] < result.offset[b]; });
    by_offset.insert(at, index);
  }
  return result;
}

}  // namespace

std::int64_t live_bound(std::span<const Block> blocks) {
  if (blocks.empty()) return 0;
  int begin = blocks[0].first;
  int end = blocks[0].last;
  for (const Block& block : blocks) {
    begin = std::min(begin, block.first);
    end = std::max(end, block.last);
  }
  std::vector<std::int64_t> change(static_cast<std::size_t>(end - begin + 2), 0);
  for (const Block& block : blocks) {
    change[static_cast<std::size_t>(block.first - begin)] += block.bytes;
    change[static_cast<std::size_t>(block.last - begin + 1)] -= block.bytes;
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (std::int64_t c : change) most = std::max(most, live += c);
  return most;
}

namespace {

// Moves blocks that stick out at the top to an earlier turn, and keeps what does not make it worse.
// A fixed number of tries and a fixed sequence of choices: the result is the same every time.
void climb(std::span<const Block> blocks, Order order, std::int64_t bound, Placement& best) {
  constexpr int kTries = 200;
  constexpr double kGoodEnough = 1.002;
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  const auto random_below = [&](std::size_t limit) {
    return static_cast<std::size_t>(splitmix64(state += 0x9E3779B97F4A7C15ULL) % limit);
  };
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (static_cast<double>(best.top) <= kGoodEnough * static_cast<double>(bound)) return;
    std::vector<std::size_t> highest;  // turns of the blocks that reach the top
    for (std::size_t turn = 0; turn < order.size(); ++turn)
      if (best.offset[order[turn]] + blocks[order[turn]].bytes == best.top) highest.push_back(turn);
    const std::size_t from = highest[random_below(highest.size())];
    if (from == 0) return;
    const std::size_t to = random_below(from);
    Order candidate_order = order;
    std::rotate(candidate_order.begin() + static_cast<std::ptrdiff_t>(to),
                candidate_order.begin() + static_cast<std::ptrdiff_t>(from),
                candidate_order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    Placement candidate = place_in_order(blocks, candidate_order, attempt % 2 == 0);
    if (candidate.top > best.top) continue;
    best = std::move(candidate);
    order = std::move(candidate_order);
  }
}

}  // namespace

Placement place(std::span<const Block> blocks) {
  const std::int64_t bound = live_bound(blocks);
  using Key = double (*)(const Block&);
  const Key keys[] = {
      [](const Block& b) { return static_cast<double>(b.bytes); },
      area,
      [](const Block& b) { return static_cast<double>(b.last - b.first); },
      [](const Block& b) { return -static_cast<double>(b.first); },
      [](const Block& b) { return (b.last - b.first) * std::sqrt(static_cast<double>(b.bytes)); },
  };
  Placement best;
  Order best_order;
  bool any = false;
  for (Key key : keys) {
    Order order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(blocks[a]) > key(blocks[b]); });
    for (bool best_fit : {true, false}) {
      Placement candidate = place_in_order(blocks, order, best_fit);
      if (any && candidate.top >= best.top) continue;
      best = std::move(candidate);
      best_order = order;
      any = true;
      if (best.top == bound) return best;
    }
  }
  climb(blocks, std::move(best_order), bound, best);
  return best;
}

}  // namespace plimsoll
