#include "plan/usage.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "plan/carry.h"
#include "plan/schedule.h"

namespace plimsoll {
namespace {

Use use_of(const Problem& problem, const Instance& instance, std::size_t backward_begin) {
  const Value& value = problem.graph().values()[static_cast<std::size_t>(instance.root)];
  if (instance.packed) return Use::half;
  if (value.role == Role::input) return Use::input;
  if (value.role == Role::gradient) return Use::gradient;
  const auto begin = static_cast<std::int32_t>(backward_begin);
  return instance.first < begin && instance.last >= begin ? Use::kept : Use::working;
}

}  // namespace

std::int64_t Usage::total(std::size_t step) const {
  return std::accumulate(steps[step].begin(), steps[step].end(), std::int64_t{0});
}

Usage usage_of(const Problem& problem, const NamedFates& fates) {
  Scheduler scheduler(problem);
  expect(scheduler.run(carry_fates(fates, problem).fates), "a plan that can be scheduled");
  const Schedule& schedule = scheduler.schedule();
  const Graph& graph = problem.graph();
  Usage usage;
  usage.steps.resize(schedule.steps.size());
  usage.backward_begin = schedule.steps.size();
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const ScheduledStep& step = schedule.steps[s];
    if (step.kind != StepKind::run) {
      const auto first =
          static_cast<std::size_t>(schedule.operands[static_cast<std::size_t>(step.first_operand)]);
      const auto root = static_cast<std::size_t>(schedule.instances[first].root);
      usage.step_names.push_back(graph.values()[root].name +
                                 (step.kind == StepKind::pack ? " to 16 bits" : " from 16 bits"));
      continue;
    }
    const auto n = static_cast<std::size_t>(step.node);
    usage.step_names.push_back(graph.nodes()[n].op->name + " " + graph.nodes()[n].name +
                               (step.again ? " again" : ""));
    if (!problem.nodes()[n].forward) usage.backward_begin = std::min(usage.backward_begin, s);
  }
  const std::span<const Block> blocks = scheduler.blocks();
  // Instances that share a block follow one another; at the step where one becomes the other the
  // bytes count once, for the one that stays.
  const Peak peak = scheduler.peak();
  usage.peak_step = static_cast<std::size_t>(std::max(peak.step, 0));
  std::vector<std::size_t> order(schedule.instances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return schedule.instances[a].first > schedule.instances[b].first;
  });
  std::vector<std::int32_t> taken_from(blocks.size(),
                                       static_cast<std::int32_t>(schedule.steps.size()));
  for (std::size_t i : order) {
    const Instance& instance = schedule.instances[i];
    const auto block = static_cast<std::size_t>(scheduler.block_of(static_cast<std::int32_t>(i)));
    const Problem::Root& root = problem.roots()[static_cast<std::size_t>(instance.root)];
    const std::int64_t bytes = instance.packed ? root.half_bytes : root.bytes;
    const Use use = use_of(problem, instance, usage.backward_begin);
    const std::int32_t last = std::min(instance.last, taken_from[block] - 1);
    for (std::int32_t s = std::max(instance.first, 0); s <= last; ++s)
      usage.steps[static_cast<std::size_t>(s)][static_cast<std::size_t>(use)] += bytes;
    if (instance.first <= peak.step && peak.step <= last)
      usage.at_peak.push_back(
          {graph.values()[static_cast<std::size_t>(instance.root)].name, bytes, use});
    taken_from[block] = std::min(taken_from[block], instance.first);
  }
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const std::int64_t scratch = blocks[schedule.instances.size() + s].bytes;
    usage.steps[s][static_cast<std::size_t>(Use::scratch)] += scratch;
    if (s == usage.peak_step && scratch > 0)
      usage.at_peak.push_back({"scratch of " + usage.step_names[s], scratch, Use::scratch});
  }
  std::stable_sort(usage.at_peak.begin(), usage.at_peak.end(),
                   [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return usage;
}

FateShares shares_of(const Problem& problem, const NamedFates& named) {
  const Fates fates = carry_fates(named, problem).fates;
  Scheduler scheduler(problem);
  expect(scheduler.run(fates), "a plan that can be scheduled");
  const Graph& graph = problem.graph();
  std::vector<bool> again(problem.roots().size(), false);
  FateShares shares;
  for (const ScheduledStep& step : scheduler.schedule().steps) {
    if (!step.again || step.kind != StepKind::run) continue;
    const Node& node = graph.nodes()[static_cast<std::size_t>(step.node)];
    for (std::int32_t out : problem.outs(problem.nodes()[static_cast<std::size_t>(step.node)]))
      if (out >= 0) again[static_cast<std::size_t>(out)] = true;
    shares.extra_flops += cost_of(graph, node).flops;
  }
  for (std::int32_t choice : problem.choices()) {
    const auto at = static_cast<std::size_t>(choice);
    const Problem::Root& root = problem.roots()[at];
    FateShare* share = nullptr;
    if (is_half(fates[at]) && root.backward_reads) share = &shares.half;
    if (fates[at] == Fate::spill && root.backward_reads) share = &shares.spilled;
    if (fates[at] == Fate::keep && root.backward_reads) share = &shares.kept;
    if (again[at]) share = &shares.recomputed;
    if (share == nullptr) continue;
    ++share->tensors;
    share->bytes += root.bytes;
  }
  return shares;
}

}  // namespace plimsoll
