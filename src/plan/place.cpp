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

// Puts blocks, one after the other, into the gap each fills best among those placed before it.
class Placer {
 public:
  Placer(std::span<const Block> blocks, Placement& result) : blocks_(blocks), result_(result) {
    by_offset_.reserve(blocks.size());
  }

  void put(std::size_t index, bool best_fit) {
    const Block& block = blocks_[index];
    if (block.bytes == 0) return;
    std::int64_t best = -1;
    std::int64_t best_gap = 0;
    std::int64_t free_from = 0;
    for (const Placed& placed : by_offset_) {
      if (placed.last < block.first || block.last < placed.first) continue;
      const std::int64_t gap = placed.offset - free_from;
      if (gap >= block.bytes && (best < 0 || gap < best_gap)) {
        best = free_from;
        best_gap = gap;
        if (!best_fit) break;
      }
      free_from = std::max(free_from, placed.end);
    }
    put_at(index, best < 0 ? free_from : best);
  }

  void put_at(std::size_t index, std::int64_t offset) {
    const Block& block = blocks_[index];
    result_.offset[index] = offset;
    result_.top = std::max(result_.top, offset + block.bytes);
    const auto at = std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                                     [](std::int64_t a, const Placed& b) { return a < b.offset; });
    by_offset_.insert(at, {offset, offset + block.bytes, block.first, block.last});
  }

 private:
  struct Placed {
    std::int64_t offset, end;
    int first, last;
  };
  std::span<const Block> blocks_;
  Placement& result_;
  std::vector<Placed> by_offset_;  // lowest first
};

Placement place_in_order(std::span<const Block> blocks, const Order& order, bool best_fit) {
  Placement result{.offset = std::vector<std::int64_t>(blocks.size(), 0), .top = 0};
  Placer placer(blocks, result);
  for (std::size_t index : order) placer.put(index, best_fit);
  return result;
}

}  // namespace

namespace {

struct Fullest {
  std::int64_t bytes = 0;
  int step = 0;
};

Fullest find_fullest(std::span<const Block> blocks) {
  if (blocks.empty()) return {};
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
  Fullest most;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < change.size(); ++i)
    if ((live += change[i]) > most.bytes)
      most = {.bytes = live, .step = begin + static_cast<int>(i)};
  return most;
}

}  // namespace

std::int64_t live_bound(std::span<const Block> blocks) { return find_fullest(blocks).bytes; }

namespace {

// Moves blocks that stick out at the top to an earlier turn, and keeps what does not make it worse.
// A fixed number of tries and a fixed sequence of choices: the result is the same every time.
void climb(std::span<const Block> blocks, Order order, std::int64_t bound, int tries,
           std::uint64_t state, Placement& best) {
  constexpr double kGoodEnough = 1.005;
  const auto random_below = [&](std::size_t limit) {
    return static_cast<std::size_t>(splitmix64(state += 0x9E3779B97F4A7C15ULL) % limit);
  };
  Placement current = place_in_order(blocks, order, true);
  std::vector<std::size_t> highest;  // turns of the blocks that reach the top
  for (int attempt = 0; attempt < tries; ++attempt) {
    if (static_cast<double>(best.top) <= kGoodEnough * static_cast<double>(bound)) return;
    highest.clear();
    for (std::size_t turn = 0; turn < order.size(); ++turn)
      if (current.offset[order[turn]] + blocks[order[turn]].bytes == current.top)
        highest.push_back(turn);
    std::size_t from = highest[random_below(highest.size())];
    // Now and then something else moves: what lies under the top may be what is in the way.
    if (random_below(3) == 0) from = random_below(order.size());
    if (from == 0) continue;
    const std::size_t to = random_below(from);
    const auto at = [&](std::size_t turn) {
      return order.begin() + static_cast<std::ptrdiff_t>(turn);
    };
    std::rotate(at(to), at(from), at(from + 1));
    Placement candidate = place_in_order(blocks, order, attempt % 2 == 0);
    if (candidate.top > current.top) {
      std::rotate(at(to), at(to + 1), at(from + 1));
      continue;
    }
    current = std::move(candidate);
    if (current.top < best.top) best = current;
  }
}

// The best of a portfolio of greedy orders, and of what grows from the two best of them.
Placement place_all(std::span<const Block> blocks) {
  const auto [bound, fullest] = find_fullest(blocks);
  using Key = double (*)(const Block&);
  const Key keys[] = {
      [](const Block& b) { return static_cast<double>(b.bytes); },
      area,
      [](const Block& b) { return static_cast<double>(b.last - b.first); },
      [](const Block& b) { return -static_cast<double>(b.first); },
      [](const Block& b) { return (b.last - b.first) * std::sqrt(static_cast<double>(b.bytes)); },
  };
  const auto is_at_peak = [fullest = fullest](const Block& b) {
    return b.first <= fullest && fullest <= b.last;
  };
  Placement best;
  std::vector<std::pair<std::int64_t, Order>> orders;
  for (std::size_t k = 0; k < 2 * std::size(keys); ++k) {
    const Key key = keys[k / 2];
    Order order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(blocks[a]) > key(blocks[b]); });
    // What must lie side by side at the fullest step, first.
    if (k % 2 == 1)
      std::stable_partition(order.begin(), order.end(),
                            [&](std::size_t i) { return is_at_peak(blocks[i]); });
    std::int64_t lowest = 0;
    for (bool best_fit : {true, false}) {
      Placement candidate = place_in_order(blocks, order, best_fit);
      lowest = best_fit ? candidate.top : std::min(lowest, candidate.top);
      if (best.offset.empty() || candidate.top < best.top) best = std::move(candidate);
      if (best.top == bound) return best;
    }
    orders.emplace_back(lowest, std::move(order));
  }
  std::stable_sort(orders.begin(), orders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // About the same time for few blocks as for many: a try costs their number squared.
  const int tries =
      std::min(400, static_cast<int>(16'000'000 / (blocks.size() * blocks.size() + 1)));
  for (std::size_t i = 0; i < 2; ++i) climb(blocks, orders[i].second, bound, tries, i, best);
  return best;
}

}  // namespace

Placement place(std::span<const Block> blocks) {
  // Small blocks are many and hardly matter: they fill the gaps that the large ones leave.
  const std::int64_t small = live_bound(blocks) / 1024;
  std::vector<Block> large;
  Order large_index;
  Order small_index;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    (blocks[i].bytes > small ? large_index : small_index).push_back(i);
    if (blocks[i].bytes > small) large.push_back(blocks[i]);
  }
  const Placement core = place_all(large);
  Placement result{.offset = std::vector<std::int64_t>(blocks.size(), 0), .top = core.top};
  Placer placer(blocks, result);
  for (std::size_t i = 0; i < large_index.size(); ++i)
    placer.put_at(large_index[i], core.offset[i]);
  std::stable_sort(small_index.begin(), small_index.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  for (std::size_t index : small_index) placer.put(index, true);
  return result;
}

}  // namespace plimsoll
