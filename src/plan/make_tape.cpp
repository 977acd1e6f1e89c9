#include "plan/make_tape.h"

#include <algorithm>

#include "base/error.h"
#include "plan/place.h"
#include "plan/schedule.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

class TapeMaker {
 public:
  TapeMaker(const Problem& problem, const Fates& fates, std::span<const std::int64_t> offsets)
      : problem_(problem), scheduler_(problem) {
    expect(scheduler_.run(fates), "a plan that can be scheduled");
    const std::span<const Block> blocks = scheduler_.blocks();
    if (offsets.empty()) {
      placement_ = place(blocks);
    } else {
      expect(offsets.size() == blocks.size(), "one offset for every block");
      placement_.offset.assign(offsets.begin(), offsets.end());
      for (std::size_t i = 0; i < blocks.size(); ++i)
        placement_.top = std::max(placement_.top, offsets[i] + blocks[i].bytes);
    }
    first_scratch_ = scheduler_.schedule().instances.size();
  }

  Tape make() const {
    Tape tape;
    tape.arena_bytes = problem_.request().resident_bytes + placement_.top;
    for (std::size_t s = 0; s < scheduler_.schedule().steps.size(); ++s)
      tape.instructions.push_back(instruction(s));
    add_transfers(tape);
    add_exchanges(tape);
    add_borders(tape);
    return tape;
  }

 private:
  static ValueId value_id(std::int32_t index) { return ValueId{index}; }

  std::int64_t block_offset(std::size_t block) const {
    return problem_.request().resident_bytes + placement_.offset[block];
  }
  std::int64_t instance_offset(std::int32_t instance) const {
    return block_offset(static_cast<std::size_t>(scheduler_.block_of(instance)));
  }
  std::int64_t offset_of(ValueId value, std::int32_t instance) const {
    if (instance < 0) return problem_.request().resident_offset[value.at()];
    return instance_offset(instance) + offset_in_root(problem_.graph(), value);
  }

  Instruction instruction(std::size_t s) const {
    const Schedule& schedule = scheduler_.schedule();
    const ScheduledStep& step = schedule.steps[s];
    const std::int32_t* operand = schedule.operands.data() + step.first_operand;
    Instruction made{.kind = step.kind,
                     .again = step.again,
                     .in = {},
                     .out = {},
                     .scratch = block_offset(first_scratch_ + s),
                     .packed = step.packed < 0 ? -1 : instance_offset(step.packed)};
    if (step.kind != StepKind::run) {
      made.value = value_id(schedule.instances[static_cast<std::size_t>(*operand)].root);
      made.in = {instance_offset(operand[0])};
      made.out = {instance_offset(operand[1])};
      return made;
    }
    made.node = NodeId{step.node};
    const Node& node = problem_.graph().node(made.node);
    for (ValueId in : node.in) made.in.push_back(offset_of(in, *operand++));
    for (ValueId out : node.out) made.out.push_back(offset_of(out, *operand++));
    return made;
  }

  void add_transfers(Tape& tape) const {
    const Schedule& schedule = scheduler_.schedule();
    std::vector<std::int64_t> file_offset(problem_.roots().size(), -1);
    for (const ScheduledTransfer& transfer : schedule.transfers) {
      const auto root = static_cast<std::size_t>(
          schedule.instances[static_cast<std::size_t>(transfer.instance)].root);
      const std::int64_t bytes = problem_.roots()[root].bytes;
      if (transfer.store) {
        file_offset[root] = tape.spill_bytes;
        tape.spill_bytes += round_up(bytes, kSpillAlignment);
      }
      tape.transfers.push_back({.store = transfer.store,
                                .value = value_id(static_cast<std::int32_t>(root)),
                                .offset = instance_offset(transfer.instance),
                                .bytes = bytes,
                                .file_offset = file_offset[root],
                                .begin = transfer.begin,
                                .end = transfer.end});
    }
    std::stable_sort(tape.transfers.begin(), tape.transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.begin < b.begin; });
  }

  void add_exchanges(Tape& tape) const {
    const Graph& graph = problem_.graph();
    for (std::size_t i = 0; i < tape.instructions.size(); ++i) {
      const Instruction& instruction = tape.instructions[i];
      if (instruction.kind != StepKind::run) continue;
      const Node& node = graph.node(instruction.node);
      if (!node.op->exchanged) continue;
      Exchange exchange{.node = instruction.node,
                        .segments = {},
                        .gathers = node.op->gathered,
                        .begin = static_cast<std::int32_t>(i) + 1,
                        .end = first_reader(tape, node.out, i + 1)};
      for (std::size_t k = 0; k < node.in.size(); ++k)
        exchange.segments.push_back({instruction.in[k], graph.spec(node.in[k]).bytes()});
      tape.exchanges.push_back(std::move(exchange));
    }
  }

  // The first instruction from `begin` on that reads one of the values; behind the last if none
  // does.
  std::int32_t first_reader(const Tape& tape, const Values& values, std::size_t begin) const {
    std::size_t i = begin;
    for (; i < tape.instructions.size(); ++i) {
      if (tape.instructions[i].kind != StepKind::run) continue;
      const Values& in = problem_.graph().node(tape.instructions[i].node).in;
      if (std::ranges::find_first_of(in, values) != in.end()) break;
    }
    return static_cast<std::int32_t>(i);
  }

  void add_borders(Tape& tape) const {
    const Schedule& schedule = scheduler_.schedule();
    for (std::int32_t i = 0; i < schedule.inputs; ++i) {
      const ValueId id = value_id(schedule.instances[static_cast<std::size_t>(i)].root);
      tape.inputs.push_back({id, instance_offset(i)});
    }
    const Values& results = problem_.request().results;
    for (std::size_t i = 0; i < results.size(); ++i)
      tape.results.push_back({results[i], offset_of(results[i], schedule.result_instance[i])});
  }

  static constexpr std::int64_t kSpillAlignment = 4096;

  const Problem& problem_;
  Scheduler scheduler_;
  Placement placement_;
  std::size_t first_scratch_ = 0;
};

}  // namespace

Tape make_tape(const Problem& problem, const Fates& fates) {
  return TapeMaker(problem, fates, {}).make();
}

Tape make_tape(const Problem& problem, const Fates& fates, std::span<const std::int64_t> offsets) {
  return TapeMaker(problem, fates, offsets).make();
}

}  // namespace plimsoll
