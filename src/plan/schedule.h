// The order of execution with recomputations in it, and how long every value is needed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/place.h"
#include "plan/problem.h"
#include "plan/tape.h"

namespace plimsoll {

// One stretch of time in which bytes hold one content. A value that is not kept has several.
struct Instance {
  std::int32_t root = -1;
  std::int32_t first = 0;  // step that writes it first; -1: there before the step
  std::int32_t last = 0;   // last step that touches it
  bool packed = false;     // the 16-bit form
};

// One execution. Operands are instances, inputs then outputs, in the node's order; -1 stands for a
// resident. pack and unpack have one of each.
struct ScheduledStep {
  StepKind kind = StepKind::run;
  bool again = false;
  std::int32_t node = -1;  // -1 for pack and unpack
  std::int32_t first_operand = 0;
  std::int32_t packed = -1;  // instance that a run writes its first operand's 16-bit form to
};

// A value on its way to the spill file or back, while other steps run. Step numbers: a store may
// begin once step `begin` is done and its bytes stay until before step `end` begins; a load
// likewise has them from step `begin` on.
struct ScheduledTransfer {
  bool store = false;
  std::int32_t instance = -1;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

struct Schedule {
  std::vector<ScheduledStep> steps;
  std::vector<std::int32_t> operands;
  std::vector<Instance> instances;
  std::vector<ScheduledTransfer> transfers;
  std::vector<std::int32_t> result_instance;  // per request.results
  std::int32_t inputs = 0;  // the first so many instances are fed inputs, in order of their values

  double extra_seconds = 0;  // of everything that keeping all would not execute
};

// Which seconds count. Floors are found by nominal ones, so that no measurement moves them.
enum class Price : std::uint8_t { known, nominal };

// What a schedule costs in memory.
struct Peak {
  std::int64_t bytes = 0;  // live at once, without residents
  std::int32_t step = 0;   // the first at which that many are
};

// Makes schedules; keeps its buffers, so that making one more allocates nothing. Not thread-safe.
class Scheduler {
 public:
  explicit Scheduler(const Problem& problem, Price price = Price::known)
      : problem_(problem), price_(price) {}

  // False: the fates recompute without end (more than three times the steps of keeping all); the
  // schedule is then useless.
  bool run(const Fates& fates);
  const Schedule& schedule() const { return schedule_; }

  // Instances as blocks, those that may lie over one another merged, then one block of scratch per
  // step. block_of tells an instance's block. Valid until the next call.
  std::span<const Block> blocks();
  std::int32_t block_of(std::int32_t instance) const {
    return block_[static_cast<std::size_t>(instance)];
  }
  Peak peak();
  // Live bytes by step, the first element being before step 0; valid after peak().
  std::span<const std::int64_t> live() const { return change_; }

 private:
  void run_node(std::int32_t node, bool again);
  void make_available(std::int32_t root);
  void execute(std::int32_t node, bool again);
  void convert(StepKind kind, std::int32_t root, std::int32_t from, std::int32_t to);
  void charge_pass(std::int64_t bytes);
  void end_forward_use(std::size_t node);
  std::int32_t begin_instance(std::int32_t root, bool packed = false);
  std::int32_t step_count() const { return static_cast<std::int32_t>(schedule_.steps.size()); }
  Instance& instance(std::int32_t index) {
    return schedule_.instances[static_cast<std::size_t>(index)];
  }
  void time_transfers();

  const Problem& problem_;
  Price price_;
  const Fates* fates_ = nullptr;
  std::size_t step_limit_ = 0;
  bool endless_ = false;
  Schedule schedule_;
  std::vector<std::int32_t> current_;  // per root: the instance that holds its content now
  std::vector<std::int32_t> stored_;   // per root: the packed instance or the spilled one
  std::vector<std::int32_t> passing_;  // roots to forget after the node they were made for
  std::vector<std::int32_t> block_;
  std::vector<bool> taken_;
  std::vector<Block> blocks_;
  std::vector<std::int64_t> change_;
};

}  // namespace plimsoll
