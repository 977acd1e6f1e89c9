#include "train/ledger.h"

#include <algorithm>

#include "train/weights.h"

namespace plimsoll {
namespace {

// Lines outside the arena follow rules whose numbers were measured over the zoo: they hold to
// some MiB for networks of 50 to 800 convolutions.
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

std::int64_t code_bytes() { return 10 * kMiB; }
std::int64_t stack_bytes(int threads) { return (160 + 48 * threads) * kKiB; }

// Page tables map 512 pages of 4 KiB with one page.
std::int64_t page_table_bytes(std::int64_t arena) { return arena / 512 + 160 * kKiB; }

struct Counts {
  std::int64_t nodes = 0;
  std::int64_t compiled = 0;  // kernels that oneDNN compiles for their shape
};

Counts count(const Session& session) {
  Counts counts;
  for (std::size_t t = 0; t < session.tapes(); ++t) {
    const auto& nodes = session.graph(t).nodes();
    counts.nodes += static_cast<std::int64_t>(nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n)
      counts.compiled +=
          session.kernel_name(t, NodeId{static_cast<std::int32_t>(n)}) == "onednn" ? 1 : 0;
  }
  return counts;
}

std::vector<LedgerLine> lines_beside(const Session& session, const Surroundings& around,
                                     std::int64_t arena) {
  const Counts counts = count(session);
  return {{"input buffers", around.input_bytes + around.worker_bytes * around.workers},
          {"checkpoint writing", kCheckpointBuffer},
          {"records and pictures", kRecordsBuffer},
          {"compiled kernels", kMiB / 2 + 10 * kKiB * counts.compiled},
          {"graph and plan", kMiB + 13 * kKiB * counts.nodes},
          {"code and libraries", code_bytes()},
          {"stacks", stack_bytes(around.threads)},
          {"page tables", page_table_bytes(arena)}};
}

}  // namespace

std::int64_t Ledger::total() const {
  std::int64_t sum = 0;
  for (const LedgerLine& line : lines) sum += line.bytes;
  return sum;
}

std::int64_t process_bytes(const Session& session, const Surroundings& around,
                           std::int64_t arena_bytes) {
  std::int64_t sum = arena_bytes;
  for (const LedgerLine& line : lines_beside(session, around, arena_bytes)) sum += line.bytes;
  return sum;
}

Ledger make_ledger(const Session& session, const Surroundings& around, const Fates& fates) {
  const Problem problem = session.problem(0);
  const Usage usage = usage_of(problem, fates);
  const std::array<std::int64_t, kUses>& peak = usage.steps[usage.peak_step];
  const auto used = [&](Use use) { return peak[static_cast<std::size_t>(use)]; };
  std::int64_t weights = 0;
  std::int64_t optimizer = 0;
  for (const std::string& name : session.resident_names()) {
    const std::int64_t bytes = round_up(session.resident_spec(name).bytes(), kAlignment);
    (name.starts_with("optimizer/") ? optimizer : weights) += bytes;
  }
  const std::int64_t training = session.tape(0).arena_bytes;
  const std::int64_t arena = session.arena_bytes();
  Ledger ledger{
      {{"weights and statistics", weights},
       {"optimizer", optimizer},
       {"gradients", used(Use::gradient)},
       {"kept activations", used(Use::kept)},
       {"kept in 16 bits", used(Use::half)},
       {"working tensors", used(Use::working)},
       {"batch", used(Use::input)},
       {"kernel scratch", used(Use::scratch)},
       {"gaps between tensors", training - session.resident_bytes() - usage.total(usage.peak_step)},
       {"evaluation, beyond training", arena - training}}};
  for (LedgerLine& line : lines_beside(session, around, arena))
    ledger.lines.push_back(std::move(line));
  return ledger;
}

}  // namespace plimsoll
