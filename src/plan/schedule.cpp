#include "plan/schedule.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace plimsoll {

namespace {

// How far spilling runs apart from computing, in steps. More hides more and holds more.
constexpr std::int32_t kSpillBehind = 2;
constexpr std::int32_t kSpillAhead = 3;

}  // namespace

std::int32_t Scheduler::begin_instance(std::int32_t root, bool packed) {
  schedule_.instances.push_back(
      {.root = root, .first = step_count(), .last = step_count(), .packed = packed});
  return static_cast<std::int32_t>(schedule_.instances.size()) - 1;
}

bool Scheduler::run(const Fates& fates) {
  const std::size_t values = problem_.roots().size();
  const auto& nodes = problem_.nodes();
  fates_ = &fates;
  endless_ = false;
  step_limit_ = 3 * nodes.size() + 64;
  schedule_.steps.clear();
  schedule_.operands.clear();
  schedule_.instances.clear();
  schedule_.transfers.clear();
  schedule_.result_instance.clear();
  schedule_.extra_seconds = 0;
  current_.assign(values, -1);
  stored_.assign(values, -1);
  passing_.clear();
  for (std::size_t v = 0; v < values; ++v) {
    if (!problem_.roots()[v].is_input) continue;
    current_[v] = begin_instance(static_cast<std::int32_t>(v));
    instance(current_[v]).first = instance(current_[v]).last = -1;
  }
  schedule_.inputs = static_cast<std::int32_t>(schedule_.instances.size());
  for (std::size_t n = 0; n < nodes.size() && !endless_; ++n) {
    if (n == problem_.backward_begin())
      for (std::int32_t root : problem_.choices())
        if (fates[static_cast<std::size_t>(root)] != Fate::keep)
          current_[static_cast<std::size_t>(root)] = -1;
    if (nodes[n].idle) continue;
    run_node(static_cast<std::int32_t>(n), false);
    if (nodes[n].forward) end_forward_use(n);
  }
  if (endless_) return false;
  const Graph& graph = problem_.graph();
  for (ValueId result : problem_.request().results) {
    std::int32_t held = -1;
    if (problem_.request().resident_offset[result.at()] < 0) {
      ValueId root = result;
      while (graph.value(root).home) root = graph.value(root).home->parent;
      held = current_[root.at()];
      expect(held >= 0, "a result is there at the end of the step");
      instance(held).last = step_count();
    }
    schedule_.result_instance.push_back(held);
  }
  time_transfers();
  return true;
}

// What is not kept as it is leaves after its last forward use.
void Scheduler::end_forward_use(std::size_t node) {
  for (std::int32_t root : problem_.ends_after(node)) {
    const auto at = static_cast<std::size_t>(root);
    const Fate fate = (*fates_)[at];
    if (is_half(fate)) {
      if (stored_[at] >= 0) continue;  // packed on the way
      stored_[at] = begin_instance(root, true);
      convert(StepKind::pack, root, current_[at], stored_[at]);
    } else if (fate == Fate::spill) {
      stored_[at] = current_[at];
      schedule_.transfers.push_back(
          {.store = true, .instance = current_[at], .begin = step_count(), .end = step_count()});
    }
  }
}

void Scheduler::run_node(std::int32_t node, bool again) {
  const std::size_t mark = passing_.size();
  for (std::int32_t in : problem_.ins(problem_.nodes()[static_cast<std::size_t>(node)]))
    if (in >= 0) make_available(in);
  if (endless_) return;
  execute(node, again);
  while (passing_.size() > mark) {
    current_[static_cast<std::size_t>(passing_.back())] = -1;
    passing_.pop_back();
  }
}

void Scheduler::make_available(std::int32_t root) {
  const auto at = static_cast<std::size_t>(root);
  if (current_[at] >= 0 || endless_) return;
  switch ((*fates_)[at]) {
    case Fate::keep: bug("a value that is kept is there when it is read");
    case Fate::half:
    case Fate::half_once:
      current_[at] = begin_instance(root);
      convert(StepKind::unpack, root, stored_[at], current_[at]);
      if ((*fates_)[at] == Fate::half) passing_.push_back(root);
      break;
    case Fate::spill:
      current_[at] = begin_instance(root);
      schedule_.transfers.push_back(
          {.store = false, .instance = current_[at], .begin = step_count(), .end = step_count()});
      break;
    case Fate::redo_once:
    case Fate::redo_each:
      for (std::int32_t maker : problem_.roots()[at].makers) run_node(maker, true);
      if ((*fates_)[at] == Fate::redo_each) passing_.push_back(root);
  }
}

void Scheduler::convert(StepKind kind, std::int32_t root, std::int32_t from, std::int32_t to) {
  const std::int32_t step = step_count();
  instance(from).last = step;
  schedule_.steps.push_back(
      {.kind = kind,
       .again = kind == StepKind::unpack,
       .node = -1,
       .first_operand = static_cast<std::int32_t>(schedule_.operands.size())});
  schedule_.operands.push_back(from);
  schedule_.operands.push_back(to);
  // Packing looks for the largest value first, which costs a little more than reading once.
  const Problem::Root& moved = problem_.roots()[static_cast<std::size_t>(root)];
  charge_pass(moved.bytes + (kind == StepKind::pack ? 2 * moved.half_bytes : moved.half_bytes));
}

void Scheduler::charge_pass(std::int64_t bytes) {
  schedule_.extra_seconds +=
      price_ == Price::known ? problem_.pass_seconds(bytes) : problem_.nominal_pass_seconds(bytes);
}

void Scheduler::execute(std::int32_t index, bool again) {
  const Problem::Node& node = problem_.nodes()[static_cast<std::size_t>(index)];
  const std::int32_t step = step_count();
  if (schedule_.steps.size() > step_limit_) {
    endless_ = true;
    return;
  }
  ScheduledStep scheduled{.kind = StepKind::run,
                          .again = again,
                          .node = index,
                          .first_operand = static_cast<std::int32_t>(schedule_.operands.size())};
  for (std::int32_t in : problem_.ins(node)) {
    const std::int32_t held = in < 0 ? -1 : current_[static_cast<std::size_t>(in)];
    if (held >= 0) instance(held).last = step;
    schedule_.operands.push_back(held);
  }
  for (std::int32_t out : problem_.outs(node)) {
    std::int32_t held = -1;
    if (out >= 0) {
      const auto at = static_cast<std::size_t>(out);
      // An output that is still held gets a place of its own, which nobody reads.
      const bool is_first_write = problem_.roots()[at].makers.front() == index;
      if (current_[at] >= 0 && again && is_first_write) {
        held = begin_instance(out);
      } else {
        if (current_[at] < 0) current_[at] = begin_instance(out);
        held = current_[at];
      }
      instance(held).last = std::max(instance(held).last, step);
    }
    schedule_.operands.push_back(held);
  }
  if (node.packs >= 0 && !again && is_half((*fates_)[static_cast<std::size_t>(node.packs)])) {
    scheduled.packed = begin_instance(node.packs, true);
    stored_[static_cast<std::size_t>(node.packs)] = scheduled.packed;
    // The second look at a plane finds it in the cache.
    charge_pass(2 * problem_.roots()[static_cast<std::size_t>(node.packs)].half_bytes);
  }
  if (again)
    schedule_.extra_seconds += price_ == Price::known ? node.seconds : node.nominal_seconds;
  schedule_.steps.push_back(scheduled);
}

// Gives every transfer the time it may take and lets the bytes live as long.
void Scheduler::time_transfers() {
  // Two transfers at once per direction of a disk; see exec/spill.h.
  constexpr double kBytesPerSecond = 0.7e9;
  for (ScheduledTransfer& transfer : schedule_.transfers) {
    Instance& moved = instance(transfer.instance);
    const auto other =
        std::find_if(schedule_.transfers.begin(), schedule_.transfers.end(), [&](const auto& t) {
          return t.store != transfer.store && instance(t.instance).root == moved.root;
        });
    if (transfer.store) {
      // Stores come before all loads, so the load's end is still the step that needs it.
      const bool comes_back = other != schedule_.transfers.end();
      transfer.end = std::min(transfer.end + kSpillBehind, comes_back ? other->end : step_count());
      moved.last = std::max(moved.last, transfer.end - 1);
    } else {
      transfer.begin = std::max(transfer.end - kSpillAhead, other->end);
      moved.first = transfer.begin;
    }
    schedule_.extra_seconds +=
        static_cast<double>(problem_.roots()[static_cast<std::size_t>(moved.root)].bytes) /
        kBytesPerSecond;
  }
}

std::span<const Block> Scheduler::blocks() {
  const std::size_t count = schedule_.instances.size();
  block_.resize(count);
  std::iota(block_.begin(), block_.end(), 0);
  taken_.assign(count, false);
  // A result of an op may lie over an operand that dies there.
  for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
    const ScheduledStep& step = schedule_.steps[s];
    if (step.kind != StepKind::run) continue;
    const Problem::Node& node = problem_.nodes()[static_cast<std::size_t>(step.node)];
    const std::int32_t* operands = schedule_.operands.data() + step.first_operand;
    for (const InPlace& rule : node.in_place) {
      const std::int32_t in = operands[rule.over];
      const std::int32_t out = operands[node.ins + rule.out];
      if (in < 0 || out < 0 || taken_[static_cast<std::size_t>(in)]) continue;
      if (instance(in).last != static_cast<std::int32_t>(s) ||
          instance(out).first != static_cast<std::int32_t>(s))
        continue;
      taken_[static_cast<std::size_t>(in)] = true;
      block_[static_cast<std::size_t>(out)] = block_[static_cast<std::size_t>(in)];
    }
  }
  blocks_.assign(count, {.first = 0, .last = -1, .bytes = 0});
  for (std::size_t i = 0; i < count; ++i) {
    const Instance& held = schedule_.instances[i];
    const Problem::Root& root = problem_.roots()[static_cast<std::size_t>(held.root)];
    Block& block = blocks_[static_cast<std::size_t>(block_[i])];
    if (block.bytes == 0)
      block = {.first = held.first,
               .last = held.last,
               .bytes = held.packed ? root.half_bytes : root.bytes};
    block.first = std::min(block.first, held.first);
    block.last = std::max(block.last, held.last);
  }
  for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
    const ScheduledStep& step = schedule_.steps[s];
    const std::int64_t scratch = step.kind == StepKind::run
                                     ? problem_.nodes()[static_cast<std::size_t>(step.node)].scratch
                                     : 0;
    blocks_.push_back(
        {.first = static_cast<int>(s), .last = static_cast<int>(s), .bytes = scratch});
  }
  return blocks_;
}

Peak Scheduler::peak() {
  change_.assign(static_cast<std::size_t>(step_count()) + 3, 0);
  for (const Block& block : blocks()) {
    if (block.bytes == 0) continue;
    change_[static_cast<std::size_t>(block.first + 1)] += block.bytes;
    change_[static_cast<std::size_t>(block.last + 2)] -= block.bytes;
  }
  Peak peak;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < change_.size(); ++i) {
    live += change_[i];
    change_[i] = live;
    if (live > peak.bytes) peak = {.bytes = live, .step = static_cast<std::int32_t>(i) - 1};
  }
  return peak;
}

}  // namespace plimsoll
