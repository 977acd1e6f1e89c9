#include "plan/place.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/place_under.h"

namespace plimsoll {
namespace {

using Order = std::vector<std::size_t>;

// Ceilings are multiples of it, so that what hangs from one is aligned.
constexpr std::int64_t kLine = 64;

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
    for (const PlacedBlock& placed : by_offset_) {
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
    const auto at =
        std::upper_bound(by_offset_.begin(), by_offset_.end(), offset,
                         [](std::int64_t a, const PlacedBlock& b) { return a < b.offset; });
    by_offset_.insert(at, {offset, offset + block.bytes, block.first, block.last});
  }

 private:
  struct PlacedBlock {
    std::int64_t offset, end;
    int first, last;
  };
  std::span<const Block> blocks_;
  Placement& result_;
  std::vector<PlacedBlock> by_offset_;  // lowest first
};

Placement place_in_order(std::span<const Block> blocks, const Order& order, bool best_fit) {
  Placement result{.offset = std::vector<std::int64_t>(blocks.size(), 0), .top = 0};
  Placer placer(blocks, result);
  for (std::size_t index : order) placer.put(index, best_fit);
  return result;
}

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

// The best of a portfolio of greedy orders; where it tops `good`, also of placing below ceilings.
Placement place_all(std::span<const Block> blocks, std::int64_t good) {
  const auto [bound, fullest] = find_fullest(blocks);
  good = std::max(good, bound);
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
    for (bool best_fit : {true, false}) {
      Placement candidate = place_in_order(blocks, order, best_fit);
      if (best.offset.empty() || candidate.top < best.top) best = std::move(candidate);
      if (best.top == bound) return best;
    }
  }
  // About the same time for few blocks as for many: a round costs their number squared.
  int rounds = std::min(400, static_cast<int>(60'000'000 / (blocks.size() * blocks.size() + 1)));
  for (const double share : {1.0, 1.008, 1.016, 1.03}) {
    const auto ceiling = static_cast<std::int64_t>(share * static_cast<double>(good));
    if (best.top <= ceiling) break;
    Placement candidate = place_under(blocks, ceiling / kLine * kLine, rounds);
    if (candidate.top < best.top) best = std::move(candidate);
    if (share == 1.0) rounds /= 4;
  }
  return best;
}

}  // namespace

Placement place(std::span<const Block> blocks) {
  // Small blocks are many and hardly matter: they fill the gaps that the large ones leave.
  const std::int64_t bound = live_bound(blocks);
  const std::int64_t small = bound / 4096;
  std::vector<Block> large;
  Order large_index;
  Order small_index;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    (blocks[i].bytes > small ? large_index : small_index).push_back(i);
    if (blocks[i].bytes > small) large.push_back(blocks[i]);
  }
  std::stable_sort(small_index.begin(), small_index.end(),
                   [&](std::size_t a, std::size_t b) { return area(blocks[a]) > area(blocks[b]); });
  // Where the gaps do not take them, they lie above all large ones.
  Placement apart = place_in_order(blocks, small_index, true);
  const std::int64_t good = bound + bound / 105 - apart.top;
  const Placement core = place_all(large, good);
  Placement result{.offset = std::vector<std::int64_t>(blocks.size(), 0), .top = 0};
  Placer placer(blocks, result);
  for (std::size_t i = 0; i < large_index.size(); ++i)
    placer.put_at(large_index[i], core.offset[i]);
  for (std::size_t index : small_index) placer.put(index, true);
  if (core.top + apart.top >= result.top) return result;
  for (std::size_t index : small_index) apart.offset[index] += core.top;
  for (std::size_t i = 0; i < large_index.size(); ++i)
    apart.offset[large_index[i]] = core.offset[i];
  apart.top += core.top;
  return apart;
}

}  // namespace plimsoll
