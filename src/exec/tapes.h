// Tapes before there is memory for them: kernels chosen, then planned. See session.h for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/jobs.h"
#include "exec/kernel_times.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/replay.h"

namespace plimsoll {

// One kind of step to be planned.
struct TapeRequest {
  Graph graph;
  Values results = {};  // values to be read after a step
  // Nodes at which parts that run together meet, in the order they run; none runs again.
  std::vector<NodeId> meetings = {};
};

class PlannedTapes;

// A run is a set of tapes over one arena. Kernels are chosen and residents (weights, state: one and
// the same in all tapes, by name) have their places. A handle: copies are the same tapes. Not
// thread-safe.
class PreparedTapes {
 public:
  explicit PreparedTapes(std::vector<TapeRequest> requests, const KernelChoice& choice = {},
                         const Environment& environment = this_process());

  // Tapes that run together, each in room of its own: the last of a list in that of a tape which
  // runs alone, the others behind. Before plan().
  void set_together(std::vector<std::vector<std::size_t>> tapes);
  const std::vector<std::vector<std::size_t>>& together() const;

  // Prices what is known; see NodeWork::seconds. Before problem().
  void set_times(const KernelTimes& times);

  std::size_t size() const;
  const Graph& graph(std::size_t tape) const;
  const PreparedNode& prepared(std::size_t tape, NodeId node) const;
  // A tape as the planner sees it, and what the checker must know about it; the first refers to
  // these tapes.
  Problem problem(std::size_t tape) const;
  ReplayRules replay_rules(std::size_t tape) const;

  std::int64_t resident_bytes() const;
  // All residents in the order they were first met.
  const std::vector<std::string>& resident_names() const;
  const Spec& resident_spec(std::string_view name) const;
  Role resident_role(std::string_view name) const;

  // Makes all tapes: those that train by these fates, as far as they can be carried there, the
  // others by keeping everything. Every tape has passed the checker. `offsets` are the places of
  // the first tape's blocks, where they are known.
  PlannedTapes plan(const NamedFates& training, std::span<const std::int64_t> offsets = {}) const;

 protected:
  struct Resident {
    Spec spec;
    Role role = Role::parameter;
    std::int64_t offset = 0;
  };
  struct Prepared;
  struct Shared;

  const Resident& find_resident(std::string_view name) const;
  Shared& shared() const { return *shared_; }

 private:
  void place_residents();

  std::shared_ptr<Shared> shared_;
};

// The same with addresses for everything.
class PlannedTapes : public PreparedTapes {
 public:
  const Tape& tape(std::size_t index) const { return *tapes_[index]; }
  // Of the largest tape, or of those that run together.
  std::int64_t arena_bytes() const;
  // Where the room of each of these begins, behind that of a tape which runs alone.
  std::vector<std::int64_t> shifts_of(const std::vector<std::size_t>& together) const;
  // Of the file that spilled values need, 0 if none are.
  std::int64_t spill_bytes() const;

 private:
  friend class PreparedTapes;
  PlannedTapes(const PreparedTapes& prepared, std::vector<std::shared_ptr<const Tape>> tapes)
      : PreparedTapes(prepared), tapes_(std::move(tapes)) {}

  std::vector<std::shared_ptr<const Tape>> tapes_;
};

}  // namespace plimsoll
