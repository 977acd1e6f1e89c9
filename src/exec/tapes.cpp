#include "exec/tapes.h"

#include <algorithm>

#include "base/error.h"
#include "exec/prepared_tapes.h"

namespace plimsoll {

PreparedTapes::PreparedTapes(std::vector<TapeRequest> requests, const KernelChoice& choice,
                             const Environment& environment)
    : shared_(std::make_shared<Shared>()) {
  for (TapeRequest& request : requests) {
    Prepared tape{.request = std::move(request)};
    tape.nodes = prepare_nodes(tape.request.graph, choice, environment);
#ifndef NDEBUG
    verify(tape.request.graph);
#endif
    tape.work = work_of(tape.request.graph, tape.nodes);
    shared_->tapes.push_back(std::move(tape));
  }
  place_residents();
}

void PreparedTapes::place_residents() {
  for (const Prepared& tape : shared_->tapes) {
    for (const Value& value : tape.request.graph.values()) {
      if (!is_resident(value.role)) continue;
      const auto [found, is_new] = shared_->residents.try_emplace(
          value.name, Resident{value.spec, value.role, shared_->resident_bytes});
      expect(found->second.spec == value.spec && found->second.role == value.role,
             "tapes agree on their residents");
      if (!is_new) continue;
      shared_->resident_names.push_back(value.name);
      shared_->resident_bytes += round_up(value.spec.bytes(), kAlignment);
    }
  }
  for (Prepared& tape : shared_->tapes) {
    const Graph& graph = tape.request.graph;
    std::vector<std::int64_t>& offset = tape.resident_offset;
    offset.assign(graph.values().size(), -1);
    for (std::size_t v = 0; v < offset.size(); ++v)
      if (is_resident(graph.values()[v].role))
        offset[v] = shared_->residents.at(graph.values()[v].name).offset;
    // The new content of a resident lies where the old one lay.
    for (const Node& node : graph.nodes())
      for (const InPlace& rule : node.op->in_place)
        if (rule.required && static_cast<std::size_t>(rule.out) < node.out.size())
          offset[node.out[static_cast<std::size_t>(rule.out)].at()] =
              offset[node.in[static_cast<std::size_t>(rule.over)].at()];
  }
}

void PreparedTapes::set_together(std::vector<std::vector<std::size_t>> tapes) {
  shared_->together = std::move(tapes);
}

const std::vector<std::vector<std::size_t>>& PreparedTapes::together() const {
  return shared_->together;
}

void PreparedTapes::set_times(const KernelTimes& times) {
  for (Prepared& tape : shared_->tapes)
    for (std::size_t n = 0; n < tape.work.size(); ++n)
      if (const auto known = times.find(tape.request.graph, n, tape.nodes[n].kernel_name()))
        tape.work[n].seconds = *known;
}

std::size_t PreparedTapes::size() const { return shared_->tapes.size(); }

const Graph& PreparedTapes::graph(std::size_t tape) const {
  return shared_->tapes[tape].request.graph;
}

const PreparedNode& PreparedTapes::prepared(std::size_t tape, NodeId node) const {
  return shared_->tapes[tape].nodes[node.at()];
}

Problem PreparedTapes::problem(std::size_t index) const {
  const Prepared& tape = shared_->tapes[index];
  return Problem({.graph = tape.request.graph,
                  .work = tape.work,
                  .resident_offset = tape.resident_offset,
                  .resident_bytes = shared_->resident_bytes,
                  .results = tape.request.results});
}

ReplayRules PreparedTapes::replay_rules(std::size_t index) const {
  const Prepared& tape = shared_->tapes[index];
  ReplayRules rules{.resident_offset = tape.resident_offset,
                    .resident_bytes = shared_->resident_bytes,
                    .scratch = {},
                    .packs = {},
                    .results = tape.request.results};
  for (const NodeWork& work : tape.work) {
    rules.scratch.push_back(work.scratch);
    rules.packs.push_back(work.packs);
  }
  return rules;
}

std::int64_t PreparedTapes::resident_bytes() const { return shared_->resident_bytes; }

const std::vector<std::string>& PreparedTapes::resident_names() const {
  return shared_->resident_names;
}

const PreparedTapes::Resident& PreparedTapes::find_resident(std::string_view name) const {
  const auto found = shared_->residents.find(std::string(name));
  expect(found != shared_->residents.end(), "the run has the resident asked for");
  return found->second;
}

const Spec& PreparedTapes::resident_spec(std::string_view name) const {
  return find_resident(name).spec;
}

Role PreparedTapes::resident_role(std::string_view name) const { return find_resident(name).role; }

PlannedTapes PreparedTapes::plan(const NamedFates& training,
                                 std::span<const std::int64_t> offsets) const {
  std::vector<std::shared_ptr<const Tape>> tapes;
  for (std::size_t t = 0; t < size(); ++t) {
    Prepared& tape = shared_->tapes[t];
    const bool trains = tape.request.graph.trains();
    if (trains || tape.still == nullptr) {
      const Problem problem = this->problem(t);
      const Fates fates = trains ? carry_fates(training, problem).fates : problem.all(Fate::keep);
      auto made = std::make_shared<const Tape>(
          make_tape(problem, fates, t == 0 ? offsets : std::span<const std::int64_t>()));
      if (const auto fault = find_fault(tape.request.graph, *made, replay_rules(t)))
        bug("the checker refuses a plan: " + *fault);
      if (!trains) tape.still = made;
      tapes.push_back(std::move(made));
    } else {
      tapes.push_back(tape.still);
    }
  }
  return {*this, std::move(tapes)};
}

std::int64_t PlannedTapes::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& tape : tapes_) bytes = std::max(bytes, tape->arena_bytes);
  for (const std::vector<std::size_t>& tapes : together())
    bytes = std::max(bytes, shifts_of(tapes).front() + tape(tapes.front()).arena_bytes);
  return bytes;
}

std::vector<std::int64_t> PlannedTapes::shifts_of(const std::vector<std::size_t>& tapes) const {
  std::vector<std::int64_t> shifts(tapes.size(), 0);
  for (std::size_t i = tapes.size(); i-- > 1;)
    shifts[i - 1] = shifts[i] + tape(tapes[i]).arena_bytes - resident_bytes();
  return shifts;
}

std::int64_t PlannedTapes::spill_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& tape : tapes_) bytes = std::max(bytes, tape->spill_bytes);
  return bytes;
}

}  // namespace plimsoll
