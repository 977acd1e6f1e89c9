#include "exec/session.h"

#include <algorithm>
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
  bool meets = false;                // parts that run together meet behind it
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
  reserve();
}

std::vector<Session::Seat> Session::seats_of(const std::vector<std::size_t>& together) const {
  const std::vector<std::int64_t> shifts = shifts_of(together);
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < together.size(); ++i) seats.push_back({together[i], shifts[i]});
  return seats;
}

// Room for what run_together() moves.
void Session::reserve() {
  std::size_t seats = 0;
  for (const auto& tapes : together()) seats = std::max(seats, tapes.size());
  if (seats == 0) return;
  next_.reserve(seats);
  met_.reserve(2 * seats);
  for (const BoundTape& bound : bound_)
    for (const BoundInstruction& step : bound) {
      moved_in_.reserve(std::max(moved_in_.capacity(), step.in.size()));
      moved_out_.reserve(std::max(moved_out_.capacity(), step.out.size()));
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
  for (std::size_t i = 0; i < bound_tape.size(); ++i) {
    const Instruction& instruction = tape.instructions[i];
    const std::vector<NodeId>& meetings = shared().tapes[index].request.meetings;
    if (instruction.kind != StepKind::run ||
        std::ranges::find(meetings, instruction.node) == meetings.end())
      continue;
    expect(!instruction.again, "parts meet once at a node");
    bound_tape[i].meets = true;
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

void Session::move(TensorView& view, std::int64_t shift) const {
  if (view.data >= room().data()) view.data += shift;
}

void Session::execute(const BoundInstruction& step, std::int64_t shift) noexcept {
  if (shift == 0) return execute(step);
  moved_in_.assign(step.in.begin(), step.in.end());
  moved_out_.assign(step.out.begin(), step.out.end());
  for (TensorView& view : moved_in_) move(view, shift);
  for (TensorView& view : moved_out_) move(view, shift);
  std::byte* const packed = step.packed == nullptr ? nullptr : step.packed + shift;
  switch (step.kind) {
    case StepKind::run:
      step.job->run(
          {.in = moved_in_, .out = moved_out_, .scratch = step.scratch + shift, .packed = packed});
      break;
    case StepKind::pack: kernels::pack_half(moved_in_[0], moved_out_[0].data); break;
    case StepKind::unpack: kernels::unpack_half(moved_in_[0].data, moved_out_[0]); break;
  }
}

std::size_t Session::run_part(const Seat& seat, std::size_t from,
                              ExchangeCarrier* exchanges) noexcept {
  const BoundTape& bound = bound_[seat.tape];
  for (std::size_t i = from; i < bound.size(); ++i) {
    if (exchanges != nullptr && bound[i].exchanges_needed > 0)
      exchanges->wait_for(bound[i].exchanges_needed);
    execute(bound[i], seat.shift);
    if (exchanges != nullptr && bound[i].posts) exchanges->post();
    if (bound[i].meets) return i + 1;
  }
  return bound.size();
}

void Session::run_together(std::span<const Seat> seats, PartMeeting& meeting) noexcept {
  const StepRegion region;
  const std::size_t last = seats.size() - 1;
  ExchangeCarrier* const exchanges =
      tape(seats[last].tape).exchanges.empty() ? nullptr : exchanges_;
  if (exchanges != nullptr) exchanges->begin_step(seats[last].tape);
  next_.assign(seats.size(), 0);
  while (next_[last] < bound_[seats[last].tape].size()) {
    for (std::size_t i = 0; i < seats.size(); ++i)
      next_[i] = run_part(seats[i], next_[i], i == last ? exchanges : nullptr);
    const BoundInstruction& met = bound_[seats[last].tape][next_[last] - 1];
    if (!met.meets) break;
    met_.clear();
    for (std::size_t i = 0; i < seats.size(); ++i)
      for (TensorView out : bound_[seats[i].tape][next_[i] - 1].out) {
        move(out, seats[i].shift);
        met_.push_back(out);
      }
    const Instruction& instruction = tape(seats[last].tape).instructions[next_[last] - 1];
    meeting.meet(graph(seats[last].tape).node(instruction.node), met_);
  }
  if (exchanges != nullptr) exchanges->end_step();
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

TensorView Session::view(const Seat& seat, std::string_view name) const {
  const std::size_t index = seat.tape;
  const Graph& graph = this->graph(index);
  const ValueId id = graph.find(name);
  expect(bool(id), "the tape has the value asked for");
  if (is_resident(graph.value(id).role)) return resident(name);
  for (const auto* list : {&tape(index).inputs, &tape(index).results})
    for (const PlacedValue& placed : *list)
      if (placed.value == id)
        return {arena_->at(placed.offset + seat.shift), graph.spec(id),
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
