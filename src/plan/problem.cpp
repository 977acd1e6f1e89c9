#include "plan/problem.h"

#include <algorithm>

#include "plan/storage.h"

namespace plimsoll {
namespace {

// Smaller values are always kept: statistics, masks of tiny layers. A choice costs planning time.
constexpr std::int64_t kSmall = 64 * 1024;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

}  // namespace

std::int64_t half_bytes(const Spec& spec) {
  if (spec.layout != Layout::blocked || spec.dtype != DType::f32) return 0;
  const std::int64_t planes = spec.shape[0] * spec.blocks();
  const std::int64_t scales = spec.lanes * size_of(DType::f32);
  return planes * scales + spec.bytes() / 2;
}

Problem::Problem(PlanRequest request)
    : request_(std::move(request)), backward_begin_(request_.graph.begin_of(Phase::backward)) {
  const Graph& graph = request_.graph;
  roots_.resize(graph.values().size());
  ends_after_.resize(graph.nodes().size());
  const auto root_index = [&](ValueId id) {
    if (request_.resident_offset[id.at()] >= 0) return std::int32_t{-1};
    return static_cast<std::int32_t>(root_of(graph, id).at());
  };
  for (std::size_t v = 0; v < roots_.size(); ++v) {
    const Value& value = graph.values()[v];
    if (value.home || request_.resident_offset[v] >= 0) continue;
    roots_[v].bytes = aligned(value.spec.bytes());
    roots_[v].half_bytes = aligned(half_bytes(value.spec));
    roots_[v].is_input = value.role == Role::input;
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const plimsoll::Node& source = graph.nodes()[n];
    Node node{.scratch = aligned(request_.work[n].scratch),
              .seconds = request_.work[n].seconds,
              .nominal_seconds = request_.work[n].nominal_seconds,
              .idle = is_idle(graph, source),
              .forward = n < backward_begin_,
              .in_place = {}};
    node.first_in = static_cast<std::int32_t>(operands_.size());
    node.ins = static_cast<std::int32_t>(source.in.size());
    for (ValueId in : source.in) operands_.push_back(root_index(in));
    node.first_out = static_cast<std::int32_t>(operands_.size());
    node.outs = static_cast<std::int32_t>(source.out.size());
    for (ValueId out : source.out) operands_.push_back(root_index(out));
    for (const InPlace& rule : source.op->in_place) {
      const auto over = static_cast<std::size_t>(rule.over);
      const auto result = static_cast<std::size_t>(rule.out);
      if (over >= source.in.size() || result >= source.out.size()) continue;
      const ValueId from = source.in[over];
      const ValueId to = source.out[result];
      if (graph.value(from).home || graph.value(to).home) continue;
      if (graph.spec(from).bytes() == graph.spec(to).bytes()) node.in_place.push_back(rule);
    }
    if (request_.work[n].packs && node.forward && !graph.value(source.in[0]).home)
      node.packs = root_index(source.in[0]);
    if (!node.idle) {
      const auto index = static_cast<std::int32_t>(n);
      for (std::int32_t in : ins(node)) {
        if (in < 0) continue;
        Root& root = roots_[static_cast<std::size_t>(in)];
        if (node.forward)
          root.last_forward_use = index;
        else
          root.backward_reads = true;
      }
      for (std::int32_t out : outs(node)) {
        if (out < 0) continue;
        Root& root = roots_[static_cast<std::size_t>(out)];
        if (root.makers.empty() || root.makers.back() != index) root.makers.push_back(index);
        if (node.forward) root.last_forward_use = index;
      }
    }
    nodes_.push_back(std::move(node));
  }
  std::vector<bool> is_result(roots_.size(), false);
  for (ValueId id : request_.results) is_result[root_of(graph, id).at()] = true;
  for (std::size_t n = 0; n < backward_begin_; ++n) {
    if (nodes_[n].idle || graph.nodes()[n].op->meets) continue;
    for (std::int32_t out : outs(nodes_[n])) {
      if (out < 0) continue;
      Root& root = roots_[static_cast<std::size_t>(out)];
      if (root.has_choice || root.bytes < kSmall || is_result[static_cast<std::size_t>(out)])
        continue;
      root.has_choice = true;
      choices_.push_back(out);
    }
  }
  double known = 0;
  double nominal = 0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].idle || !graph.nodes()[n].op->cheap_to_repeat) continue;
    known += nodes_[n].seconds;
    nominal += nodes_[n].nominal_seconds;
  }
  if (known > 0 && nominal > 0) pass_slowness_ = known / nominal;
  for (std::size_t v = 0; v < roots_.size(); ++v)
    if (roots_[v].last_forward_use >= 0)
      ends_after_[static_cast<std::size_t>(roots_[v].last_forward_use)].push_back(
          static_cast<std::int32_t>(v));
}

double Problem::nominal_pass_seconds(std::int64_t bytes) const {
  constexpr double kBytesPerSecond = 1.0e10;
  constexpr double kCall = 4e-6;
  return kCall + static_cast<double>(bytes) / kBytesPerSecond;
}

Fates Problem::all(Fate fate) const {
  Fates fates(roots_.size(), Fate::keep);
  for (std::int32_t root : choices_)
    if (permits(root, fate)) fates[static_cast<std::size_t>(root)] = fate;
  return fates;
}

Fates Problem::cheap() const {
  Fates fates(roots_.size(), Fate::keep);
  const auto stays = [&](std::int32_t in) {
    if (in < 0) return true;
    const Root& root = roots_[static_cast<std::size_t>(in)];
    return root.backward_reads && fates[static_cast<std::size_t>(in)] == Fate::keep;
  };
  for (std::int32_t choice : choices_) {
    const Root& root = roots_[static_cast<std::size_t>(choice)];
    const auto is_cheap = [&](std::int32_t maker) {
      const auto at = static_cast<std::size_t>(maker);
      const std::span<const std::int32_t> from = ins(nodes_[at]);
      return graph().nodes()[at].op->cheap_to_repeat &&
             std::all_of(from.begin(), from.end(), stays);
    };
    if (root.backward_reads && std::all_of(root.makers.begin(), root.makers.end(), is_cheap))
      fates[static_cast<std::size_t>(choice)] = Fate::redo_once;
  }
  return fates;
}

}  // namespace plimsoll
