#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "plan/place.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

// Instances that share one block because an op writes over an operand that dies there.
std::vector<int> share_in_place(const Graph& graph, const Schedule& schedule) {
  std::vector<int> block(schedule.instances.size());
  std::iota(block.begin(), block.end(), 0);
  std::vector<bool> taken(schedule.instances.size(), false);
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const ScheduledNode& step = schedule.steps[s];
    const Node& node = graph.node(step.node);
    for (const InPlace& rule : node.op->in_place) {
      const auto over = static_cast<std::size_t>(rule.over);
      const auto result = static_cast<std::size_t>(rule.out);
      if (over >= step.in.size() || result >= step.out.size()) continue;
      const int in = step.in[over];
      const int out = step.out[result];
      if (in < 0 || out < 0 || taken[static_cast<std::size_t>(in)]) continue;
      const Instance& dying = schedule.instances[static_cast<std::size_t>(in)];
      const Instance& born = schedule.instances[static_cast<std::size_t>(out)];
      const bool whole = dying.root == node.in[over] && born.root == node.out[result];
      const bool fits = graph.spec(dying.root).bytes() == graph.spec(born.root).bytes();
      if (!whole || !fits || dying.last != static_cast<int>(s) || born.first != static_cast<int>(s))
        continue;
      taken[static_cast<std::size_t>(in)] = true;
      block[static_cast<std::size_t>(out)] = block[static_cast<std::size_t>(in)];
    }
  }
  return block;
}

}  // namespace

Tape make_tape(const PlanRequest& request) {
  const Graph& graph = request.graph;
  const Schedule schedule = make_schedule(request);
  const std::vector<int> shared = share_in_place(graph, schedule);

  std::vector<Block> blocks(schedule.instances.size());
  for (std::size_t i = 0; i < schedule.instances.size(); ++i) {
    const Instance& instance = schedule.instances[i];
    Block& block = blocks[static_cast<std::size_t>(shared[i])];
    const std::int64_t bytes = aligned(graph.spec(instance.root).bytes());
    if (block.bytes == 0) block = {.first = instance.first, .last = instance.last, .bytes = bytes};
    block.first = std::min(block.first, instance.first);
    block.last = std::max(block.last, instance.last);
  }
  const std::size_t first_scratch = blocks.size();
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const int time = static_cast<int>(s);
    blocks.push_back({.first = time,
                      .last = time,
                      .bytes = aligned(request.work[schedule.steps[s].node.at()].scratch)});
  }

  const Placement placement = place(blocks);
  const auto offset_of = [&](ValueId value, int instance) {
    if (instance < 0) return request.resident_offset[value.at()];
    const auto block = static_cast<std::size_t>(shared[static_cast<std::size_t>(instance)]);
    return request.resident_bytes + placement.offset[block] + offset_in_root(graph, value);
  };

  Tape tape;
  tape.arena_bytes = request.resident_bytes + placement.top;
  tape.live_bytes = request.resident_bytes + live_bound(blocks);
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const ScheduledNode& step = schedule.steps[s];
    const Node& node = graph.node(step.node);
    Instruction instruction{
        .node = step.node,
        .again = step.again,
        .in = {},
        .out = {},
        .scratch = request.resident_bytes + placement.offset[first_scratch + s]};
    for (std::size_t i = 0; i < node.in.size(); ++i)
      instruction.in.push_back(offset_of(node.in[i], step.in[i]));
    for (std::size_t i = 0; i < node.out.size(); ++i)
      instruction.out.push_back(offset_of(node.out[i], step.out[i]));
    tape.instructions.push_back(std::move(instruction));
  }
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    if (schedule.input_instance[v] < 0) continue;
    const ValueId id{static_cast<std::int32_t>(v)};
    tape.inputs.push_back({id, offset_of(id, schedule.input_instance[v])});
  }
  for (std::size_t i = 0; i < request.results.size(); ++i)
    tape.results.push_back(
        {request.results[i], offset_of(request.results[i], schedule.result_instance[i])});
  return tape;
}

}  // namespace plimsoll
