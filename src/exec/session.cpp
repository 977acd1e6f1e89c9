#include "exec/session.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/step_region.h"
#include "kernels/half.h"
#include "plan/carry.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

// Operands of one instruction as pointers; made once, before step 1.
struct BoundInstruction {
  StepKind kind = StepKind::run;
  Job* job = nullptr;  // of run
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  std::byte* scratch = nullptr;
  std::byte* packed = nullptr;
  std::size_t transfers_needed = 0;  // so many must be complete before it
};

void execute(const BoundInstruction& step) noexcept {
  switch (step.kind) {
    case StepKind::run:
      step.job->run(
          {.in = step.in, .out = step.out, .scratch = step.scratch, .packed = step.packed});
      break;
    case StepKind::pack: kernels::pack_half(step.in[0], step.out[0].data); break;
    case StepKind::unpack: kernels::unpack_half(step.in[0].data, step.out[0]); break;
  }
}

}  // namespace

struct Session::Track {
  TapeRequest request;
  std::vector<PreparedNode> nodes;
  std::vector<NodeWork> work;
  std::vector<std::int64_t> resident_offset;
  Tape tape;
  std::vector<BoundInstruction> bound;
};

Session::Session(std::vector<TapeRequest> requests, KernelChoice choice,
                 const Environment& environment) {
  for (TapeRequest& request : requests) {
    auto track = std::make_unique<Track>(Track{std::move(request), {}, {}, {}, {}, {}});
    track->nodes = prepare_nodes(track->request.graph, choice, environment);
#ifndef NDEBUG
    verify(track->request.graph);
#endif
    track->work = work_of(track->request.graph, track->nodes);
    tracks_.push_back(std::move(track));
  }
  place_residents();
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::place_residents() {
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
  for (const auto& track : tracks_) {
    const Graph& graph = track->request.graph;
    std::vector<std::int64_t>& offset = track->resident_offset;
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
  }
}

Problem Session::problem(std::size_t tape) const {
  const Track& track = *tracks_[tape];
  return Problem({.graph = track.request.graph,
                  .work = track.work,
                  .resident_offset = track.resident_offset,
                  .resident_bytes = resident_bytes_,
                  .results = track.request.results});
}

void Session::plan(const Fates& training, std::span<const std::int64_t> offsets) {
  arena_bytes_ = 0;
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const Problem problem = this->problem(t);
    Track& track = *tracks_[t];
    const bool trains = track.request.graph.trains();
    const Fates fates = trains ? carry_fates(training, graph(0), problem) : problem.all(Fate::keep);
    // What does not train is planned the same way every time.
    if (trains || track.tape.instructions.empty()) {
      track.tape = make_tape(problem, fates, t == 0 ? offsets : std::span<const std::int64_t>());
      if (const auto fault = find_fault(track.request.graph, track.tape, replay_rules(t)))
        bug("the checker refuses a plan: " + *fault);
    }
    arena_bytes_ = std::max(arena_bytes_, track.tape.arena_bytes);
  }
}

ReplayRules Session::replay_rules(std::size_t tape) const {
  const Track& track = *tracks_[tape];
  ReplayRules rules{.resident_offset = track.resident_offset,
                    .resident_bytes = resident_bytes_,
                    .scratch = {},
                    .packs = {},
                    .results = track.request.results};
  for (const NodeWork& work : track.work) {
    rules.scratch.push_back(work.scratch);
    rules.packs.push_back(work.packs);
  }
  return rules;
}

void Session::set_times(const KernelTimes& times) {
  for (auto& track : tracks_)
    for (std::size_t n = 0; n < track->work.size(); ++n)
      if (const auto known = times.find(track->request.graph, n)) track->work[n].seconds = *known;
}

std::int64_t Session::spill_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& track : tracks_) bytes = std::max(bytes, track->tape.spill_bytes);
  return bytes;
}

void Session::bind(Track& track) {
  const Graph& graph = track.request.graph;
  const auto view_at = [&](ValueId id, std::int64_t offset) {
    return TensorView{.data = arena_->at(offset),
                      .spec = graph.spec(id),
                      .image_stride = graph.spec(root_of(graph, id)).image_elements()};
  };
  for (const Instruction& instruction : track.tape.instructions) {
    BoundInstruction bound{.kind = instruction.kind,
                           .job = nullptr,
                           .in = {},
                           .out = {},
                           .scratch = arena_->at(instruction.scratch)};
    if (instruction.packed >= 0) bound.packed = arena_->at(instruction.packed);
    if (instruction.kind == StepKind::run) {
      const Node& node = graph.node(instruction.node);
      bound.job = track.nodes[instruction.node.at()].job.get();
      for (std::size_t i = 0; i < node.in.size(); ++i)
        bound.in.push_back(view_at(node.in[i], instruction.in[i]));
      for (std::size_t i = 0; i < node.out.size(); ++i)
        bound.out.push_back(view_at(node.out[i], instruction.out[i]));
    } else {
      bound.in.push_back(view_at(instruction.value, instruction.in[0]));
      bound.out.push_back(view_at(instruction.value, instruction.out[0]));
    }
    track.bound.push_back(std::move(bound));
  }
  // Transfers are carried in order, so waiting for one waits for all before it.
  for (std::size_t k = 0; k < track.tape.transfers.size(); ++k) {
    const auto end = static_cast<std::size_t>(track.tape.transfers[k].end);
    if (end < track.bound.size()) track.bound[end].transfers_needed = k + 1;
  }
}

void Session::open(const std::filesystem::path& spill_directory) {
  expect(arena_ == nullptr && arena_bytes_ > 0, "a session is planned, then opened, once");
  if (spill_bytes() > 0) {
    spill_file_ = std::make_unique<SpillFile>(spill_directory, spill_bytes());
    carrier_ = std::make_unique<SpillCarrier>(*spill_file_);
  }
  arena_ = std::make_unique<Arena>(arena_bytes_);
  for (auto& track : tracks_) {
    for (PreparedNode& node : track->nodes)
      if (node.job) node.job->make_ready();
    bind(*track);
  }
}

template <class Execute>
void Session::walk(const Track& track, Execute each) {
  const bool spills = !track.tape.transfers.empty();
  if (spills) carrier_->begin_step(track.tape.transfers, arena_->at(0));
  for (std::size_t i = 0; i < track.bound.size(); ++i) {
    if (track.bound[i].transfers_needed > 0) carrier_->wait_for(track.bound[i].transfers_needed);
    each(i);
    if (spills) carrier_->advance(static_cast<std::int32_t>(i) + 1);
  }
  if (spills) carrier_->end_step();
}

void Session::run(std::size_t tape) noexcept {
  const StepRegion region;
  const Track& track = *tracks_[tape];
  walk(track, [&](std::size_t i) { execute(track.bound[i]); });
}

void Session::run_watched(std::size_t tape, const Look& look) {
  const Track& track = *tracks_[tape];
  bool going = true;
  walk(track, [&](std::size_t i) {
    const Instruction& instruction = track.tape.instructions[i];
    const Node* node =
        instruction.kind == StepKind::run ? &track.request.graph.node(instruction.node) : nullptr;
    going = going && (node == nullptr || node->phase < Phase::update);
    if (!going) return;  // transfers are carried to their end all the same
    execute(track.bound[i]);
    if (node != nullptr) going = look(*node, track.bound[i].out);
  });
}

void Session::check_spill() {
  const int error = carrier_ ? carrier_->take_error() : 0;
  if (error != 0)
    throw DataError({.where = "spill file",
                     .got = std::strerror(error),
                     .expected = "values that were set aside to come back",
                     .hint = "the weights of the last checkpoint are good; look at the disk"});
}

void Session::run_instruction(std::size_t tape, std::size_t index) noexcept {
  execute(tracks_[tape]->bound[index]);
}

const Graph& Session::graph(std::size_t tape) const { return tracks_[tape]->request.graph; }
const Tape& Session::tape(std::size_t index) const { return tracks_[index]->tape; }

std::string_view Session::kernel_name(std::size_t tape, NodeId node) const {
  return tracks_[tape]->nodes[node.at()].kernel_name();
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

const Session::Resident& Session::find_resident(std::string_view name) const {
  const auto found = residents_.find(std::string(name));
  expect(found != residents_.end(), "the run has the resident asked for");
  return found->second;
}

TensorView Session::resident(std::string_view name) const {
  const Resident& resident = find_resident(name);
  return {arena_->at(resident.offset), resident.spec, resident.spec.image_elements()};
}

}  // namespace plimsoll
