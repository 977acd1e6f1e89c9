#include "dist/tree.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace plimsoll::dist {
namespace {

void append_nodes(const PartRange& node, const PartRange& range, std::vector<PartRange>& found) {
  if (node.end <= range.begin || range.end <= node.begin) return;
  if (range.begin <= node.begin && node.end <= range.end) {
    found.push_back(node);
    return;
  }
  const int middle = split_of(node);
  append_nodes({node.begin, middle}, range, found);
  append_nodes({middle, node.end}, range, found);
}

// Appends what makes up `node` and returns which of `nodes` it is then in.
int append_additions(const PartRange& node, std::span<const PartRange> nodes, int& next,
                     std::vector<Addition>& found) {
  expect(static_cast<std::size_t>(next) < nodes.size(), "nodes that cover the tree");
  if (nodes[static_cast<std::size_t>(next)] == node) return next++;
  const int middle = split_of(node);
  const int left = append_additions({node.begin, middle}, nodes, next, found);
  const int right = append_additions({middle, node.end}, nodes, next, found);
  found.push_back({.into = left, .from = right});
  return left;
}

}  // namespace

Parts parts_of(std::int64_t images, std::int64_t whole, std::int64_t parts) {
  expect(images > 0 && whole > 0 && parts > 0, "a batch with something in it");
  const std::int64_t count = std::min(images, (images * parts + whole - 1) / whole);
  return {.images = images, .count = static_cast<int>(count)};
}

PartRange range_of(int rank, int ranks, int parts) {
  const auto begin = [&](std::int64_t r) { return static_cast<int>(r * parts / ranks); };
  return {begin(rank), begin(rank + 1)};
}

Window window_of(std::int64_t images, std::int64_t whole, std::int64_t parts, int rank, int ranks) {
  const Parts all = parts_of(images, whole, parts);
  const PartRange own = range_of(rank, ranks, all.count);
  return {.first = all.begin(own.begin), .count = all.begin(own.end) - all.begin(own.begin)};
}

int split_of(const PartRange& node) {
  expect(node.size() > 1, "a node of several parts");
  return node.begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(node.size() - 1)));
}

std::vector<PartRange> nodes_of(const PartRange& range, int parts) {
  std::vector<PartRange> found;
  append_nodes({0, parts}, range, found);
  return found;
}

std::vector<Carry> carries_of(const PartRange& range, int parts) {
  std::vector<Carry> carries;
  int held = 0;
  for (int part = range.begin; part < range.end; ++part) {
    const int then = static_cast<int>(nodes_of({range.begin, part + 1}, parts).size());
    carries.push_back({.held = held, .merged = held + 1 - then});
    held = then;
  }
  return carries;
}

int slots_of(const PartRange& range, int parts) {
  int slots = 0;
  for (const Carry& carry : carries_of(range, parts)) slots = std::max(slots, carry.held);
  return slots;
}

std::vector<Addition> additions_of(std::span<const PartRange> nodes, int parts) {
  std::vector<Addition> found;
  int next = 0;
  append_additions({0, parts}, nodes, next, found);
  expect(static_cast<std::size_t>(next) == nodes.size(), "nodes of the tree");
  return found;
}

}  // namespace plimsoll::dist
