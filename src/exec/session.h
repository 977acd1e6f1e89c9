// A run is a set of tapes over one arena.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/jobs.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "tensor/arena.h"

namespace plimsoll {

// One kind of step to be planned.
struct TapeRequest {
  Graph graph;
  Values results = {};  // values to be read after a step
  std::size_t backward_begin =
      0;                  // first node of backward; nodes().size() for a forward-only graph
  bool keep_all = false;  // keep for backward even what is cheap to make again
};

// How many bytes of the arena a tape holds, by what they are for.
struct TapeBytes {
  std::int64_t residents = 0;
  std::int64_t arena = 0;
  std::int64_t live_bound = 0;
};

// Plans every tape when constructed, maps memory in open(), and then only walks tapes. Residents
// (weights, state) are one and the same in all tapes, by name. Not thread-safe; kernels use the
// OpenMP team of the calling thread, whose size must not change after construction.
class Session {
 public:
  explicit Session(std::vector<TapeRequest> requests, KernelChoice choice = KernelChoice::best);
  ~Session();
  Session(Session&&) noexcept;

  std::int64_t arena_bytes() const { return arena_bytes_; }
  std::int64_t resident_bytes() const { return resident_bytes_; }
  TapeBytes bytes(std::size_t tape) const;

  // Maps the arena and makes every kernel ready. Called once; throws BudgetError.
  void open();

  // Executes one step. No allocation, no system call of ours, no exception.
  void run(std::size_t tape) noexcept;
  // One instruction of it; for tools that measure or look between nodes.
  void run_instruction(std::size_t tape, std::size_t index) noexcept;

  const Graph& graph(std::size_t tape) const;
  const Tape& tape(std::size_t index) const;
  std::size_t backward_begin(std::size_t tape) const;
  std::string_view kernel_name(std::size_t tape, NodeId node) const;

  // Memory of an input, result or resident, by name; aborts if the tape has no such value. Inputs
  // are overwritten by the step, results are valid until the next one.
  TensorView view(std::size_t tape, std::string_view name) const;
  // A resident of any tape.
  TensorView resident(std::string_view name) const;
  // All residents in the order they were first met.
  const std::vector<std::string>& resident_names() const { return resident_names_; }

 private:
  struct Track;
  void settle_residents();
  void plan_track(Track& track);
  void bind(Track& track);

  std::vector<std::unique_ptr<Track>> tracks_;
  std::vector<std::string> resident_names_;
  struct Resident {
    Spec spec;
    Role role;
    std::int64_t offset;
  };
  std::unordered_map<std::string, Resident> residents_;
  std::int64_t resident_bytes_ = 0;
  std::int64_t arena_bytes_ = 0;
  std::unique_ptr<Arena> arena_;
};

}  // namespace plimsoll
