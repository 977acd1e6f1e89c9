// How a batch is cut into parts, who computes which, and in which order they are added up. What a
// run computes depends on its parts alone, never on the number of ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::dist {

// The images of a batch in parts, whose sizes differ by at most one.
struct Parts {
  std::int64_t images = 0;
  int count = 1;

  // The first image of a part; begin(count) is `images`.
  std::int64_t begin(int part) const { return part * images / count; }
  std::int64_t size(int part) const { return begin(part + 1) - begin(part); }
  // Of the batch; all of them are 1.
  double share(int part) const {
    return static_cast<double>(size(part)) / static_cast<double>(images);
  }
  bool operator==(const Parts&) const = default;
};

// The parts of a batch in a run that cuts its whole batches, of `whole` images, into `parts`: a
// smaller batch has fewer parts, not smaller ones. No part is empty.
Parts parts_of(std::int64_t images, std::int64_t whole, std::int64_t parts);

// Parts [begin, end), and the node of the tree that is their sum.
struct PartRange {
  int begin = 0;
  int end = 0;

  int size() const { return end - begin; }
  bool operator==(const PartRange&) const = default;
};

// What rank `rank` computes; empty for some where there are fewer parts than ranks.
PartRange range_of(int rank, int ranks, int parts);

// The images of a batch that rank `rank` computes: [first, first + count).
struct Window {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const Window&) const = default;
};
Window window_of(std::int64_t images, std::int64_t whole, std::int64_t parts, int rank, int ranks);

// Where a node of at least two parts is split: behind the largest power of two below its size. The
// node is its first half plus its second.
int split_of(const PartRange& node);

// The fewest nodes of the tree over `parts` parts that make up `range`, left to right: what a rank
// that computed it holds.
std::vector<PartRange> nodes_of(const PartRange& range, int parts);

// What a rank does with a part it has computed. Nodes it holds are in slots, the last in the
// highest: it adds the last `merged` of `held` to the part, last first, and holds the sum as the
// one behind the others.
struct Carry {
  int held = 0;
  int merged = 0;
  bool operator==(const Carry&) const = default;
};

// For each part of `range`.
std::vector<Carry> carries_of(const PartRange& range, int parts);
// Slots that these fill where the last sum stays outside of them.
int slots_of(const PartRange& range, int parts);

// nodes[into] += nodes[from]
struct Addition {
  int into = 0;
  int from = 0;
};

// In this order they leave the sum of all parts in the first of `nodes`, which are those of all
// ranks, left to right.
std::vector<Addition> additions_of(std::span<const PartRange> nodes, int parts);

}  // namespace plimsoll::dist
