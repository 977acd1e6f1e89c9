// Sums over the parts of a batch, on one rank and over all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/passes.h"

namespace plimsoll {

// Which part of a batch a step sees. Parts are summed in a fixed tree (dist/tree.h); sums that wait
// for others lie in slots, which are residents.
enum class Part : std::uint8_t {
  whole,  // the batch in one piece
  early,  // one whose sums go into slots, and that changes nothing else
  last,   // the last of a rank's: makes the sums whole and updates by them
  none,   // of a rank that has no part: updates by the sums of the others
};

struct PartRequest {
  Part part = Part::whole;
  int slots = 0;
  // Sums are exchanged with other ranks in buckets of about so many bytes; 0: there are none.
  std::int64_t bucket_bytes = 0;
  // So many ranks share out what the optimizer remembers, of which this is one.
  int rank = 0;
  int shards = 1;
  // BatchNorms take the statistics of all parts (step/met_statistics.h).
  bool meets = false;
};

// A value that is summed, weighted by the part's share of the batch; the caller's id becomes that
// of the sum.
struct Summed {
  ValueId* value;
  std::string name;  // of what it belongs to
};

// Rewrites a graph whose backward is complete so that every one of these values is summed as soon
// as it is made: added up with what lies in slots and, in graphs with ranks, exchanged, in buckets
// that follow from the graph alone. Of an early part the ids mean nothing any more. Input `code`
// i32 [2] is a dist::Carry.
Graph sum_over_parts(const Graph& graph, const std::vector<Summed>& summed,
                     const PartRequest& request, const Keep& keep);

// What such a graph does from its exchanges on: what was summed before is fed, with any content.
Graph behind_exchanges(const Graph& graph, const Keep& keep);

}  // namespace plimsoll
