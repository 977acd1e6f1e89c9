// A run is a set of tapes over one arena.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/jobs.h"
#include "exec/kernel_times.h"
#include "exec/spill.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/replay.h"
#include "tensor/arena.h"

namespace plimsoll {

// One kind of step to be planned.
struct TapeRequest {
  Graph graph;
  Values results = {};  // values to be read after a step
};

// Chooses kernels when constructed, plans in plan(), maps memory in open(), and then only walks
// tapes. Residents (weights, state) are one and the same in all tapes, by name. Not thread-safe;
// kernels use the OpenMP team of the calling thread, whose size must not change after construction.
class Session {
 public:
  explicit Session(std::vector<TapeRequest> requests, KernelChoice choice = KernelChoice::best,
                   const Environment& environment = this_process());
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  std::size_t tapes() const { return tracks_.size(); }
  std::int64_t resident_bytes() const { return resident_bytes_; }
  // A tape as the planner sees it; refers to this session.
  Problem problem(std::size_t tape) const;

  // Makes all tapes: those that train by these fates, which are those of the first tape's values
  // and are taken over by name, the others by keeping everything. Every tape has passed the
  // checker. `offsets` are the places of the first tape's blocks, where they are known.
  void plan(const Fates& training, std::span<const std::int64_t> offsets = {});
  // What the checker must know about a tape.
  ReplayRules replay_rules(std::size_t tape) const;
  // Prices what is known; see NodeWork::seconds. Before problem().
  void set_times(const KernelTimes& times);
  // Of the largest tape. After plan().
  std::int64_t arena_bytes() const { return arena_bytes_; }
  // Of the file that spilled values need, 0 if none are.
  std::int64_t spill_bytes() const;

  // Maps the arena and makes every kernel ready; `spill_directory` is used if tapes spill. Called
  // once, after plan(). Throws BudgetError, DataError.
  void open(const std::filesystem::path& spill_directory = {});

  // Executes one step. No allocation, no system call of ours but for spilling, no exception.
  void run(std::size_t tape) noexcept;
  // The same step for eyes, up to its updates: `look` sees the operands that every node wrote, as
  // soon as they are written, and may end the step there by returning false. Allocates.
  using Look = std::function<bool(const Node& node, std::span<const TensorView> out)>;
  void run_watched(std::size_t tape, const Look& look);
  // Throws DataError if spilling failed in a step since the last call: its results are worthless.
  void check_spill();
  // One instruction of it; for tools that measure or look between nodes.
  void run_instruction(std::size_t tape, std::size_t index) noexcept;

  const Graph& graph(std::size_t tape) const;
  const Tape& tape(std::size_t index) const;
  std::string_view kernel_name(std::size_t tape, NodeId node) const;

  // Memory of an input, result or resident, by name; aborts if the tape has no such value. Inputs
  // are overwritten by the step, results are valid until the next one.
  TensorView view(std::size_t tape, std::string_view name) const;
  // A resident of any tape.
  TensorView resident(std::string_view name) const;
  const Spec& resident_spec(std::string_view name) const { return find_resident(name).spec; }
  Role resident_role(std::string_view name) const { return find_resident(name).role; }
  // All residents in the order they were first met.
  const std::vector<std::string>& resident_names() const { return resident_names_; }

 private:
  struct Track;
  struct Resident {
    Spec spec;
    Role role = Role::parameter;
    std::int64_t offset = 0;
  };
  void place_residents();
  const Resident& find_resident(std::string_view name) const;
  void bind(Track& track);
  template <class Execute>
  void walk(const Track& track, Execute each);

  std::vector<std::unique_ptr<Track>> tracks_;
  std::vector<std::string> resident_names_;
  std::unordered_map<std::string, Resident> residents_;
  std::int64_t resident_bytes_ = 0;
  std::int64_t arena_bytes_ = 0;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<SpillFile> spill_file_;
  std::unique_ptr<SpillCarrier> carrier_;
};

}  // namespace plimsoll
