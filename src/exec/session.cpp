#include "exec/session.h"

#include <cstring>

#include "base/error.h"
#include "base/step_region.h"
#include "exec/prepared_tapes.h"
#include "kernels/half.h"
#include "plan/storage.h"

namespace plimsoll {

// Operands of one instruction as pointers; made once, before step 1.
struct Session::BoundInstruction {
  StepKind kind = StepKind::run;
  Job* job = nullptr;  // of run
  std::vector<TensorView> in;
  std::vector<TensorView> out;
  std::byte* scratch = nullptr;
  std::byte* packed = nullptr;
  std::size_t transfers_needed = 0;  // so many must be complete before it
  std::size_t exchanges_needed = 0;  // likewise
  bool posts = false;                // an exchange begins behind it
};

void Session::execute(const BoundInstruction& step) noexcept {
  switch (step.kind) {
    case StepKind::run:
      step.job->run(
          {.in = step.in, .out = step.out, .scratch = step.scratch, .packed = step.packed});
      break;
    case StepKind::pack: kernels::pack_half(step.in[0], step.out[0].data); break;
    case StepKind::unpack: kernels::unpack_half(step.in[0].data, step.out[0]); break;
  }
}

Session::Session(const PlannedTapes& planned, const std::filesystem::path& spill_directory,
                 ExchangeCarrier* exchanges)
    : PlannedTapes(planned), exchanges_(exchanges) {
  expect(!shared().opened, "tapes are opened once");
  shared().opened = true;
  if (spill_bytes() > 0) {
    spill_file_ = std::make_unique<SpillFile>(spill_directory, spill_bytes());
    carrier_ = std::make_unique<SpillCarrier>(*spill_file_);
  }
  arena_ = std::make_unique<Arena>(arena_bytes());
  for (std::size_t t = 0; t < size(); ++t) {
    for (PreparedNode& node : shared().tapes[t].nodes)
      if (node.job) node.job->compile();
    bound_.push_back(bind(t));
    if (tape(t).exchanges.empty()) continue;
    expect(exchanges_ != nullptr, "somebody to exchange with");
    exchanges_->prepare(t, tape(t).exchanges, arena_->at(0));
  }
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Session::BoundTape Session::bind(std::size_t index) const {
  const Graph& graph = this->graph(index);
  const Tape& tape = this->tape(index);
  const auto view_at = [&](ValueId id, std::int64_t offset) {
    return TensorView{.data = arena_->at(offset),
                      .spec = graph.spec(id),
                      .image_stride = graph.spec(root_of(graph, id)).image_elements()};
  };
  BoundTape bound_tape;
  for (const Instruction& instruction : tape.instructions) {
    BoundInstruction bound{.kind = instruction.kind,
                           .job = nullptr,
                           .in = {},
                           .out = {},
                           .scratch = arena_->at(instruction.scratch)};
    if (instruction.packed >= 0) bound.packed = arena_->at(instruction.packed);
    if (instruction.kind == StepKind::run) {
      const Node& node = graph.node(instruction.node);
      bound.job = shared().tapes[index].nodes[instruction.node.at()].job.get();
      for (std::size_t i = 0; i < node.in.size(); ++i)
        bound.in.push_back(view_at(node.in[i], instruction.in[i]));
      for (std::size_t i = 0; i < node.out.size(); ++i)
        bound.out.push_back(view_at(node.out[i], instruction.out[i]));
    } else {
      bound.in.push_back(view_at(instruction.value, instruction.in[0]));
      bound.out.push_back(view_at(instruction.value, instruction.out[0]));
    }
    bound_tape.push_back(std::move(bound));
  }
  // Transfers are carried in order, so waiting for one waits for all before it.
  for (std::size_t k = 0; k < tape.transfers.size(); ++k) {
    const auto end = static_cast<std::size_t>(tape.transfers[k].end);
    if (end < bound_tape.size()) bound_tape[end].transfers_needed = k + 1;
  }
  for (std::size_t k = 0; k < tape.exchanges.size(); ++k) {
    const auto end = static_cast<std::size_t>(tape.exchanges[k].end);
    if (end < bound_tape.size()) bound_tape[end].exchanges_needed = k + 1;
    bound_tape[static_cast<std::size_t>(tape.exchanges[k].begin) - 1].posts = true;
  }
  return bound_tape;
}

template <class Execute>
void Session::walk(std::size_t index, ExchangeCarrier* exchanges, Execute each) {
  const BoundTape& bound = bound_[index];
  const std::vector<Transfer>& transfers = tape(index).transfers;
  const bool spills = !transfers.empty();
  if (tape(index).exchanges.empty()) exchanges = nullptr;
  if (spills) carrier_->begin_step(transfers, arena_->at(0));
  if (exchanges != nullptr) exchanges->begin_step(index);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].transfers_needed > 0) carrier_->wait_for(bound[i].transfers_needed);
    if (exchanges != nullptr && bound[i].exchanges_needed > 0)
      exchanges->wait_for(bound[i].exchanges_needed);
    each(i);
    if (spills) carrier_->advance(static_cast<std::int32_t>(i) + 1);
    if (exchanges != nullptr && bound[i].posts) exchanges->post();
  }
  if (exchanges != nullptr) exchanges->end_step();
  if (spills) carrier_->end_step();
}

void Session::run(std::size_t tape) noexcept {
  const StepRegion region;
  const BoundTape& bound = bound_[tape];
  walk(tape, exchanges_, [&](std::size_t i) { execute(bound[i]); });
}

void Session::run_watched(std::size_t tape, const Look& look) {
  bool going = true;
  walk(tape, nullptr, [&](std::size_t i) {
    const Instruction& instruction = this->tape(tape).instructions[i];
    const Node* node =
        instruction.kind == StepKind::run ? &graph(tape).node(instruction.node) : nullptr;
    going = going && (node == nullptr || node->phase < Phase::update);
    if (!going) return;  // transfers are carried to their end all the same
    execute(bound_[tape][i]);
    if (node != nullptr) going = look(*node, bound_[tape][i].out);
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
  execute(bound_[tape][index]);
}

TensorView Session::view(std::size_t index, std::string_view name) const {
  const Graph& graph = this->graph(index);
  const ValueId id = graph.find(name);
  expect(bool(id), "the tape has the value asked for");
  if (is_resident(graph.value(id).role)) return resident(name);
  for (const auto* list : {&tape(index).inputs, &tape(index).results})
    for (const PlacedValue& placed : *list)
      if (placed.value == id)
        return {arena_->at(placed.offset), graph.spec(id),
                graph.spec(root_of(graph, id)).image_elements()};
  bug("only inputs, results and residents can be viewed");
}

std::span<std::byte> Session::room() const {
  return {arena_->at(resident_bytes()), static_cast<std::size_t>(arena_bytes() - resident_bytes())};
}

TensorView Session::resident(std::string_view name) const {
  const Resident& resident = find_resident(name);
  return {arena_->at(resident.offset), resident.spec, resident.spec.image_elements()};
}

}  // namespace plimsoll
