#include "exec/session.h"

#include <algorithm>

#include "base/error.h"
#include "base/step_region.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

// Operands of one instruction as pointers; made once, before step 1.
struct BoundInstruction {
  Job* job = nullptr;
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  std::byte* scratch = nullptr;
};

}  // namespace

struct Session::Track {
  TapeRequest request;
  std::vector<PreparedNode> nodes;
  std::vector<std::int64_t> resident_offset;
  Tape tape;
  std::vector<BoundInstruction> bound;
};

Session::Session(std::vector<TapeRequest> requests, KernelChoice choice) {
  for (TapeRequest& request : requests) {
    auto track = std::make_unique<Track>(Track{std::move(request), {}, {}, {}, {}});
#ifndef NDEBUG
    verify(track->request.graph);
#endif
    track->nodes = prepare_nodes(track->request.graph, choice);
    tracks_.push_back(std::move(track));
  }
  settle_residents();
  for (auto& track : tracks_) plan_track(*track);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

void Session::settle_residents() {
  for (const auto& track : tracks_) {
    for (const Value& value : track->request.graph.values()) {
      if (!is_resident(value.role)) continue;
      const auto [found, is_new] =
          residents_.try_emplace(value.name, Resident{value.spec, value.role, resident_bytes_});
      expect(found->second.spec == value.spec, "tapes agree on their residents");
      if (!is_new) continue;
      resident_names_.push_back(value.name);
      resident_bytes_ += round_up(value.spec.bytes(), kAlignment);
    }
  }
}

void Session::plan_track(Track& track) {
  const Graph& graph = track.request.graph;
  std::vector<std::int64_t>& offset = track.resident_offset;
  offset.assign(graph.values().size(), -1);
  for (std::size_t v = 0; v < offset.size(); ++v)
    if (is_resident(graph.values()[v].role))
      offset[v] = residents_.at(graph.values()[v].name).offset;
  // The new content of a resident lies where the old one lay.
  for (const Node& node : graph.nodes())
    for (const InPlace& rule : node.op->in_place)
      if (rule.required && static_cast<std::size_t>(rule.out) < node.out.size())
        offset[node.out[static_cast<std::size_t>(rule.out)].at()] =
            offset[node.in[static_cast<std::size_t>(rule.over)].at()];

  const std::vector<NodeWork> work = work_of(track.nodes);
  const std::size_t begin = track.request.backward_begin;
  PlanRequest request{.graph = graph,
                      .work = work,
                      .resident_offset = offset,
                      .resident_bytes = resident_bytes_,
                      .results = track.request.results,
                      .drop = track.request.keep_all
                                  ? std::vector<bool>(graph.values().size(), false)
                                  : cheap_drops(graph, begin),
                      .backward_begin = begin};
  track.tape = make_tape(request);
  arena_bytes_ = std::max(arena_bytes_, track.tape.arena_bytes);
}

TapeBytes Session::bytes(std::size_t index) const {
  const Tape& tape = tracks_[index]->tape;
  return {.residents = resident_bytes_, .arena = tape.arena_bytes, .live_bound = tape.live_bytes};
}

void Session::bind(Track& track) {
  const Graph& graph = track.request.graph;
  const auto view_at = [&](ValueId id, std::int64_t offset) {
    return TensorView{.data = arena_->at(offset),
                      .spec = graph.spec(id),
                      .image_stride = graph.spec(root_of(graph, id)).image_elements()};
  };
  for (const Instruction& instruction : track.tape.instructions) {
    const Node& node = graph.node(instruction.node);
    BoundInstruction bound{.job = track.nodes[instruction.node.at()].job.get(),
                           .in = {},
                           .out = {},
                           .scratch = arena_->at(instruction.scratch)};
    for (std::size_t i = 0; i < node.in.size(); ++i)
      bound.in.push_back(view_at(node.in[i], instruction.in[i]));
    for (std::size_t i = 0; i < node.out.size(); ++i)
      bound.out.push_back(view_at(node.out[i], instruction.out[i]));
    track.bound.push_back(std::move(bound));
  }
}

void Session::open() {
  expect(arena_ == nullptr, "a session is opened once");
  arena_ = std::make_unique<Arena>(arena_bytes_);
  for (auto& track : tracks_) {
    for (PreparedNode& node : track->nodes)
      if (node.job) node.job->make_ready();
    bind(*track);
  }
}

void Session::run(std::size_t tape) noexcept {
  const StepRegion region;
  for (BoundInstruction& step : tracks_[tape]->bound)
    step.job->run({.in = step.in, .out = step.out, .scratch = step.scratch});
}

void Session::run_instruction(std::size_t tape, std::size_t index) noexcept {
  BoundInstruction& step = tracks_[tape]->bound[index];
  step.job->run({.in = step.in, .out = step.out, .scratch = step.scratch});
}

const Graph& Session::graph(std::size_t tape) const { return tracks_[tape]->request.graph; }
const Tape& Session::tape(std::size_t index) const { return tracks_[index]->tape; }

std::size_t Session::backward_begin(std::size_t tape) const {
  return tracks_[tape]->request.backward_begin;
}

std::string_view Session::kernel_name(std::size_t tape, NodeId node) const {
  return tracks_[tape]->nodes[node.at()].kernel;
}

TensorView Session::view(std::size_t index, std::string_view name) const {
  const Track& track = *tracks_[index];
  const Graph& graph = track.request.graph;
  const ValueId id = graph.find(name);
  expect(bool(id), "the tape has the value asked for");
  if (is_resident(graph.value(id).role)) return resident(name);
  for (const auto* list : {&track.tape.inputs, &track.tape.results})
    for (const Placed& placed : *list)
      if (placed.value == id)
        return {arena_->at(placed.offset), graph.spec(id),
                graph.spec(root_of(graph, id)).image_elements()};
  bug("only inputs, results and residents can be viewed");
}

TensorView Session::resident(std::string_view name) const {
  const auto found = residents_.find(std::string(name));
  expect(found != residents_.end(), "the run has the resident asked for");
  const Spec& spec = found->second.spec;
  return {arena_->at(found->second.offset), spec, spec.image_elements()};
}

}  // namespace plimsoll
