#include "plan/place_under.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace plimsoll {
namespace {

using Order = std::vector<std::size_t>;

class Nest {
 public:
  // Whether every block may hang from the ceiling, or only those that stay to the end.
  enum class Hanging : bool { few, all };

  // What is needed in the last `tail` of all steps counts as staying to the end.
  Nest(std::span<const Block> blocks, std::int64_t ceiling, Hanging hanging, double tail)
      : blocks_(blocks), ceiling_(ceiling), hanging_(hanging), offset_(blocks.size(), 0) {
    for (const Block& block : blocks) end_ = std::max(end_, block.last);
    tail_ = end_ - static_cast<int>(tail * end_);
  }

  // Places all in that order; what the order before had in its beginning too stays.
  void place(const Order& order) {
    std::size_t same = 0;
    while (same < order_.size() && order_[same] == order[same]) ++same;
    order_ = order;
    placed_.clear();
    overflow_ = 0;
    top_ = 0;
    for (std::size_t turn = 0; turn < same; ++turn) add(order[turn]);
    std::sort(placed_.begin(), placed_.end(),
              [](const StandingBlock& a, const StandingBlock& b) { return a.offset < b.offset; });
    for (std::size_t turn = same; turn < order.size(); ++turn) {
      const std::size_t index = order[turn];
      offset_[index] = find_offset(blocks_[index]);
      add(index);
      const auto at = std::upper_bound(
          placed_.begin(), placed_.end() - 1, offset_[index],
          [](std::int64_t offset, const StandingBlock& other) { return offset < other.offset; });
      std::rotate(at, placed_.end() - 1, placed_.end());
    }
  }

  bool sticks_out(std::size_t index) const {
    return offset_[index] + blocks_[index].bytes > ceiling_;
  }
  // Bytes times steps of the blocks that stick out.
  double overflow() const { return overflow_; }
  std::int64_t top() const { return top_; }
  Placement placement() const { return {.offset = offset_, .top = top_}; }
  bool stays_to_the_end(const Block& block) const { return block.last >= tail_; }
  // About where a training step turns from forward to backward.
  int turning_step() const { return end_ * 2 / 5; }

 private:
  struct StandingBlock {
    std::int64_t offset, end;
    int first, last;
  };

  void add(std::size_t index) {
    const Block& block = blocks_[index];
    const std::int64_t end = offset_[index] + block.bytes;
    placed_.push_back({offset_[index], end, block.first, block.last});
    top_ = std::max(top_, end);
    if (end > ceiling_)
      overflow_ += static_cast<double>(block.bytes) * (block.last - block.first + 1);
  }

  std::int64_t find_offset(const Block& block) {
    met_.clear();
    for (const StandingBlock& placed : placed_)
      if (placed.last >= block.first && block.last >= placed.first) met_.push_back(placed);
    std::int64_t best = -1;
    int best_touch = -1;
    const auto consider = [&](std::int64_t offset) {
      const int touch = touch_at(block, offset);
      if (touch <= best_touch) return;
      best_touch = touch;
      best = offset;
    };
    std::int64_t free_from = 0;
    const auto consider_gap = [&](std::int64_t gap_end) {
      if (gap_end - free_from < block.bytes) return;
      consider(free_from);
      if (gap_end - free_from > block.bytes) consider(gap_end - block.bytes);
    };
    for (const StandingBlock& placed : met_) {
      consider_gap(placed.offset);
      free_from = std::max(free_from, placed.end);
    }
    consider_gap(ceiling_);
    return best < 0 ? free_from : best;
  }

  // For how many steps the block has a neighbour right below it, and right above it.
  int touch_at(const Block& block, std::int64_t offset) const {
    const std::int64_t end = offset + block.bytes;
    const int all = block.last - block.first + 1;
    int touch = offset == 0 ? all : 0;
    if (end == ceiling_ && (hanging_ == Hanging::all || stays_to_the_end(block))) touch += all;
    for (const StandingBlock& placed : met_)
      if (placed.end == offset || placed.offset == end)
        touch += std::min(placed.last, block.last) - std::max(placed.first, block.first) + 1;
    return touch;
  }

  std::span<const Block> blocks_;
  std::int64_t ceiling_;
  Hanging hanging_;
  std::vector<std::int64_t> offset_;
  std::vector<StandingBlock> placed_;  // lowest first
  std::vector<StandingBlock> met_;     // of these, what lives at the same time as the block in hand
  Order order_;
  double overflow_ = 0;
  std::int64_t top_ = 0;
  int end_ = 0;
  int tail_ = 0;
};

using Key = double (*)(const Block&);
constexpr Key kKeys[] = {
    [](const Block& b) { return static_cast<double>(b.bytes); },
    [](const Block& b) { return static_cast<double>(b.bytes) * (b.last - b.first + 1); },
    [](const Block& b) { return static_cast<double>(b.last - b.first); },
    [](const Block& b) { return -static_cast<double>(b.first); },
    [](const Block& b) { return (b.last - b.first) * std::sqrt(static_cast<double>(b.bytes)); },
};

Order long_lived_first(std::span<const Block> blocks, const Nest& nest, Key key) {
  enum Rank { crosses, stays, others };
  const int turning = nest.turning_step();
  const auto rank = [&](const Block& b) {
    if (nest.stays_to_the_end(b) && b.first >= turning / 2) return stays;
    const bool is_long = b.last - b.first > turning / 5;
    return b.first < turning && b.last > turning && is_long ? crosses : others;
  };
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const Block& a = blocks[i];
    const Block& b = blocks[j];
    const Rank rank_a = rank(a);
    const Rank rank_b = rank(b);
    if (rank_a != rank_b) return rank_a < rank_b;
    if (rank_a == crosses) return a.last > b.last;
    if (rank_a == stays) return a.first < b.first;
    return key(a) > key(b);
  });
  return order;
}

}  // namespace

Placement place_under(std::span<const Block> blocks, std::int64_t ceiling, int rounds) {
  struct Start {
    Nest nest;
    Order order;
  };
  std::vector<Start> starts;
  Placement best;
  for (const double tail : {0.2, 0.3})
    for (const Nest::Hanging hanging : {Nest::Hanging::few, Nest::Hanging::all})
      for (const Key key : kKeys) {
        Nest nest(blocks, ceiling, hanging, tail);
        Order order = long_lived_first(blocks, nest, key);
        nest.place(order);
        if (best.offset.empty() || nest.top() < best.top) best = nest.placement();
        if (nest.overflow() == 0) return best;
        starts.push_back({std::move(nest), std::move(order)});
      }
  std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) {
    return a.nest.overflow() < b.nest.overflow();
  });
  const auto count = static_cast<double>(blocks.size());
  std::vector<double> urgency(blocks.size());
  for (std::size_t s = 0; s < 4; ++s) {
    auto& [nest, order] = starts[s];
    for (std::size_t turn = 0; turn < order.size(); ++turn)
      urgency[order[turn]] = count - static_cast<double>(turn);
    std::uint64_t random = s;
    for (int round = 0; round < rounds / 4 && nest.overflow() > 0; ++round) {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (!nest.sticks_out(i)) continue;
        const auto chance = static_cast<double>(splitmix64(random += 0x9E3779B97F4A7C15ULL) % 1000);
        urgency[i] += count * (0.005 + 0.095 * chance / 1000);
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return urgency[a] > urgency[b]; });
      nest.place(order);
      if (nest.top() < best.top) best = nest.placement();
    }
    if (nest.overflow() == 0) return best;
  }
  return best;
}

}  // namespace plimsoll
