// Tapes with memory: from here on they are only walked.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "exec/exchange_carrier.h"
#include "exec/part_meeting.h"
#include "exec/spill.h"
#include "exec/tapes.h"
#include "tensor/arena.h"

namespace plimsoll {

// Planned tapes that are open. Not thread-safe; kernels use the OpenMP team of the calling thread,
// whose size must not change after the tapes were prepared.
class Session : public PlannedTapes {
 public:
  // Maps the arena and makes every kernel ready; `spill_directory` is used if tapes spill. Tapes
  // are opened once, whichever plan they were given. `exchanges` is needed if tapes exchange, and
  // outlives this. Throws BudgetError, DataError.
  explicit Session(const PlannedTapes& planned, const std::filesystem::path& spill_directory = {},
                   ExchangeCarrier* exchanges = nullptr);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Executes one step. No allocation, no system call of ours but for spilling, no exception.
  void run(std::size_t tape) noexcept;
  // A tape among those that run together, and how far behind its room lies: see set_together().
  struct Seat {
    std::size_t tape = 0;
    std::int64_t shift = 0;
  };
  std::vector<Seat> seats_of(const std::vector<std::size_t>& together) const;
  // The same for tapes that run together: all of them up to a node at which they meet, one after
  // the other, then on from there. None of them spills; the last alone exchanges.
  void run_together(std::span<const Seat> seats, PartMeeting& meeting) noexcept;
  // The same step for eyes, up to its updates: `look` sees the operands that every node wrote, as
  // soon as they are written, and may end the step there by returning false. Nothing is exchanged
  // with other ranks. Allocates.
  using Look = std::function<bool(const Node& node, std::span<const TensorView> out)>;
  void run_watched(std::size_t tape, const Look& look);
  // Throws DataError if spilling failed in a step since the last call: its results are worthless.
  void check_spill();
  // One instruction of it; for tools that measure or look between nodes.
  void run_instruction(std::size_t tape, std::size_t index) noexcept;

  // Memory of an input, result or resident, by name; aborts if the tape has no such value. Inputs
  // are overwritten by the step, results are valid until the next one.
  TensorView view(const Seat& seat, std::string_view name) const;
  TensorView view(std::size_t tape, std::string_view name) const { return view(Seat{tape}, name); }
  // A resident of any tape.
  TensorView resident(std::string_view name) const;
  // What steps work in, behind the residents: anybody's between two of them.
  std::span<std::byte> room() const;

 private:
  struct BoundInstruction;
  using BoundTape = std::vector<BoundInstruction>;
  BoundTape bind(std::size_t tape) const;
  void reserve();
  template <class Execute>
  void walk(std::size_t tape, ExchangeCarrier* exchanges, Execute each);
  static void execute(const BoundInstruction& step) noexcept;
  // With everything but residents so much further behind.
  void execute(const BoundInstruction& step, std::int64_t shift) noexcept;
  void move(TensorView& view, std::int64_t shift) const;
  // From instruction `from` on up to one at which parts meet, or to the end; returns the next.
  std::size_t run_part(const Seat& seat, std::size_t from, ExchangeCarrier* exchanges) noexcept;

  std::vector<BoundTape> bound_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<SpillFile> spill_file_;
  std::unique_ptr<SpillCarrier> carrier_;
  ExchangeCarrier* exchanges_ = nullptr;
  // Of run_together(), which allocates nothing.
  std::vector<std::size_t> next_;
  std::vector<TensorView> met_;
  std::vector<TensorView> moved_in_;
  std::vector<TensorView> moved_out_;
};

}  // namespace plimsoll
