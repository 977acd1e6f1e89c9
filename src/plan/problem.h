// The graph as the planner sees it: flat lists of integers, so that one schedule costs
// microseconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "plan/fate.h"

namespace plimsoll {

// What the planner must know about a node and cannot see in the graph.
struct NodeWork {
  std::int64_t scratch = 0;    // exact bytes of its kernel
  double seconds = 0;          // of one execution, as far as known; prices recomputation only
  double nominal_seconds = 0;  // by a fixed rule: the same on every machine
  bool packs = false;          // its kernel can write the 16-bit form of in[0] as it reads it
};

// Everything that decides a tape, but for the fates. Values are indexed by ValueId, nodes by
// NodeId. The graph and the work outlive it.
struct PlanRequest {
  const Graph& graph;
  std::span<const NodeWork> work;
  std::vector<std::int64_t> resident_offset;  // per value; -1 for those that are not resident
  std::int64_t resident_bytes = 0;            // temporaries lie behind these
  Values results;                             // values somebody reads after the step
};

// Aligned so that no two values share a cache line.
inline constexpr std::int64_t kAlignment = 64;

// Immutable once made.
class Problem {
 public:
  explicit Problem(PlanRequest request);

  struct Node {
    std::int32_t first_in = 0, ins = 0;    // into operands()
    std::int32_t first_out = 0, outs = 0;  // into operands()
    std::int64_t scratch = 0;              // rounded up to kAlignment
    double seconds = 0;
    double nominal_seconds = 0;
    bool idle = false;              // moves no bytes: never executed
    bool forward = false;           // before backward_begin()
    std::int32_t packs = -1;        // root whose 16-bit form it can write as it reads it
    std::vector<InPlace> in_place;  // those between whole roots of equal size
  };
  // A value that has bytes of its own; indexed like values, others are empty.
  struct Root {
    std::int64_t bytes = 0;              // rounded up to kAlignment
    std::int64_t half_bytes = 0;         // of its 16-bit form; 0 where there is none
    std::vector<std::int32_t> makers;    // nodes that write it, in order
    std::int32_t last_forward_use = -1;  // node after which forward needs it no more
    bool is_input = false;
    bool has_choice = false;  // made by forward, needed by backward or to make it again, not small
    bool backward_reads = false;
  };

  const PlanRequest& request() const { return request_; }
  const Graph& graph() const { return request_.graph; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Root>& roots() const { return roots_; }
  // Index of the first node of backward; nodes().size() if there is none.
  std::size_t backward_begin() const { return backward_begin_; }
  // Root of an operand, -1 for residents.
  std::int32_t operand(std::int32_t index) const {
    return operands_[static_cast<std::size_t>(index)];
  }
  std::span<const std::int32_t> ins(const Node& node) const {
    return {operands_.data() + node.first_in, static_cast<std::size_t>(node.ins)};
  }
  std::span<const std::int32_t> outs(const Node& node) const {
    return {operands_.data() + node.first_out, static_cast<std::size_t>(node.outs)};
  }
  // Roots whose last forward use is node n.
  std::span<const std::int32_t> ends_after(std::size_t n) const { return ends_after_[n]; }
  // Roots that have a choice, in the order forward makes them.
  const std::vector<std::int32_t>& choices() const { return choices_; }

  // Seconds of one cheap pass over so many bytes, by a fixed rule, and as far as known: what this
  // machine's cheap kernels take, against the rule.
  double nominal_pass_seconds(std::int64_t bytes) const;
  double pass_seconds(std::int64_t bytes) const {
    return nominal_pass_seconds(bytes) * pass_slowness_;
  }

  // Not every value has a 16-bit form.
  bool permits(std::int32_t root, Fate fate) const {
    return !is_half(fate) || roots_[static_cast<std::size_t>(root)].half_bytes > 0;
  }
  // That fate for every root that has a choice and permits it, keep for the others.
  Fates all(Fate fate) const;
  // Forgets everything that one cheap pass over kept values makes again: with convolution -
  // BatchNorm - ReLU, all but the convolution's output.
  Fates cheap() const;

 private:
  PlanRequest request_;
  std::size_t backward_begin_;
  std::vector<Node> nodes_;
  std::vector<Root> roots_;
  std::vector<std::int32_t> operands_;
  std::vector<std::vector<std::int32_t>> ends_after_;
  std::vector<std::int32_t> choices_;
  double pass_slowness_ = 1;
};

// Bytes of the 16-bit form of a tensor; 0 when it has none (see kernels/half.h).
std::int64_t half_bytes(const Spec& spec);

}  // namespace plimsoll
