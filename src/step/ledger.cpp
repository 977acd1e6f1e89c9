#include "step/ledger.h"

#include <algorithm>

#include "base/held.h"
#include "base/isa.h"
#include "draw/mosaic.h"
#include "step/weights.h"
#include "task/class_counts.h"

namespace plimsoll {
namespace {

// Lines outside the arena follow rules whose numbers were measured over the zoo (bench/ledger):
// they hold to some MiB for networks of 50 to 800 convolutions.
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

// Wider instructions are longer, and what oneDNN makes of them has more cases.
bool is_wide() { return process_isa() != Isa::avx2; }
std::int64_t code_bytes() { return 57 * kMiB / 4 + (is_wide() ? 3 * kMiB / 2 : 0); }
std::int64_t compiled_bytes() { return (is_wide() ? 38 : 32) * kKiB; }

// Stacks and heaps of their own: of the team and the data workers, of those that watch and spill.
std::int64_t thread_bytes(const Surroundings& around) {
  return kMiB / 2 + 816 * kKiB * around.threads + (around.spills ? 128 * kKiB : 0);
}

struct Counts {
  std::int64_t operands = 0;  // of all instructions
  std::int64_t compiled = 0;  // jobs with machine code of their own
};

Counts count(const PlannedTapes& tapes) {
  Counts counts;
  for (std::size_t t = 0; t < tapes.size(); ++t) {
    for (const Instruction& instruction : tapes.tape(t).instructions)
      counts.operands += std::ssize(instruction.in) + std::ssize(instruction.out);
    for (std::size_t n = 0; n < tapes.graph(t).nodes().size(); ++n) {
      const Kernel* kernel = tapes.prepared(t, NodeId{static_cast<std::int32_t>(n)}).kernel;
      counts.compiled += kernel != nullptr && kernel->traits.compiles ? 1 : 0;
    }
  }
  return counts;
}

// Page tables map 512 pages of 4 KiB with one page; every kernel's code is a mapping of its own.
std::int64_t page_table_bytes(std::int64_t arena, const Counts& counts) {
  return arena / 512 + 160 * kKiB + 768 * counts.compiled;
}

// The sheet of the first batch as pixels, room for as many to compress them into, and the PNG,
// which of photographs is not much smaller than their pixels and of what was enlarged is no larger.
// A detector's validation batch is drawn twice, truth beside what was found.
std::int64_t picture_bytes(const PreparedTapes& tapes, std::int64_t batch, bool in_pairs) {
  if (batch == 0) return 0;
  const Shape& image = tapes.graph(0).spec(tapes.graph(0).find("image")).shape;
  const draw::TileShape tile{.width = image[3], .height = image[2], .channels = image[1]};
  const auto tiles = std::min(kSheetTiles, static_cast<std::size_t>(in_pairs ? 2 * batch : batch));
  const std::int64_t sheet = std::max(draw::mosaic_bytes(tiles, tile),
                                      in_pairs ? draw::mosaic_bytes(tiles, tile, true) : 0);
  const std::int64_t pixels = static_cast<std::int64_t>(tiles) * tile.width * tile.height * 3;
  return kMiB / 4 + 2 * sheet + 9 * std::min(pixels, sheet) / 10;
}

// Bytes of a tensor in a file, which has all of what follows a weight even where ranks share it
// out.
std::int64_t stored_bytes(const PreparedTapes& tapes, const std::string& name) {
  constexpr std::int64_t kOfHeader = 256;
  const std::string whole = followed_weight(name, tapes.resident_role(name));
  return tapes.resident_spec(whole).shape.elements() * std::int64_t{sizeof(float)} + kOfHeader;
}

std::int64_t file_bytes(const PreparedTapes& tapes, const RunFiles& files) {
  constexpr std::int64_t kHistogram = 2 * kKiB;
  std::int64_t sum = files.records;
  for (const std::string& name : tapes.resident_names()) {
    const Role role = tapes.resident_role(name);
    if (role == Role::accumulated) continue;
    const bool is_weight = role != Role::optimizer && role != Role::average;
    sum += files.checkpoints * stored_bytes(tapes, name);
    if (is_weight) sum += files.weights * stored_bytes(tapes, name) + files.histograms * kHistogram;
  }
  return sum;
}

std::vector<LedgerLine> lines_beside(const PlannedTapes& tapes, const Surroundings& around,
                                     std::int64_t arena) {
  const Counts counts = count(tapes);
  std::vector<LedgerLine> lines{
      {kIndexLine, around.index_bytes},
      {kInputLine, around.input_bytes + around.worker_bytes * around.workers, LineKind::later},
      {"evaluation of boxes", around.tally_bytes, LineKind::later},
      {"writing checkpoints, pictures",
       std::max(kCheckpointBuffer, picture_bytes(tapes, around.batch, around.tally_bytes > 0)),
       LineKind::later},
      {kFilesLine, file_bytes(tapes, around.files), LineKind::later},
      {"exchange between parts", around.exchange_bytes},
      {"compiled kernels", compiled_bytes() * counts.compiled, LineKind::by_rule},
      {"graph and plan",
       3 * kMiB / 2 + 224 * kKiB * static_cast<std::int64_t>(tapes.size()) + 1088 * counts.operands,
       LineKind::by_rule},
      {"code and libraries", code_bytes() + around.decoder_bytes, LineKind::by_rule},
      {"threads", thread_bytes(around), LineKind::by_rule},
      {"page tables", page_table_bytes(arena, counts), LineKind::by_rule}};
  // Before there is an arena. It binds where lists are long and the network is small.
  const std::int64_t opening = code_bytes() + around.decoder_bytes + kMiB + around.index_bytes +
                               around.opening_bytes + thread_bytes(around);
  std::int64_t run = arena;
  for (const LedgerLine& line : lines) run += line.bytes;
  lines.push_back({"opening the data, beyond training", std::max<std::int64_t>(0, opening - run),
                   LineKind::later});
  return lines;
}

}  // namespace

std::int64_t class_bytes(const std::vector<std::string>& names) {
  std::int64_t text = 0;
  for (const std::string& name : names) text += std::ssize(name) + 3;  // as JSON
  const std::int64_t classes = std::ssize(names);
  const std::int64_t cells = ClassCounts::cells(classes);
  constexpr std::int64_t kCounts = 3;
  constexpr std::int64_t kCopies = 7;  // the run's identity, a checkpoint's metadata and header
  return held(names).count + (kCounts * classes + cells) * std::int64_t{sizeof(std::int64_t)} +
         kCopies * text;
}

std::int64_t Ledger::total() const {
  std::int64_t sum = 0;
  for (const LedgerLine& line : lines) sum += line.bytes;
  return sum;
}

std::int64_t Ledger::to_come() const {
  std::int64_t sum = 0;
  for (const LedgerLine& line : lines) sum += line.kind == LineKind::later ? line.bytes : 0;
  return sum;
}

std::int64_t process_bytes(const PlannedTapes& tapes, const Surroundings& around,
                           std::int64_t arena_bytes) {
  std::int64_t sum = arena_bytes;
  for (const LedgerLine& line : lines_beside(tapes, around, arena_bytes)) sum += line.bytes;
  return sum;
}

Ledger make_ledger(const PlannedTapes& tapes, const Surroundings& around, const NamedFates& fates) {
  const Problem problem = tapes.problem(0);
  const Usage usage = usage_of(problem, fates);
  const std::array<std::int64_t, kUses>& peak = usage.steps[usage.peak_step];
  const auto used = [&](Use use) { return peak[static_cast<std::size_t>(use)]; };
  std::int64_t weights = 0;
  std::int64_t optimizer = 0;
  std::int64_t sums = 0;
  for (const std::string& name : tapes.resident_names()) {
    const Role role = tapes.resident_role(name);
    std::int64_t& line = role == Role::optimizer     ? optimizer
                         : role == Role::accumulated ? sums
                                                     : weights;
    line += round_up(tapes.resident_spec(name).bytes(), kAlignment);
  }
  const std::int64_t training = tapes.tape(0).arena_bytes;
  std::int64_t at_once = training;
  for (const std::vector<std::size_t>& together : tapes.together())
    at_once = std::max(
        at_once, tapes.shifts_of(together).front() + tapes.tape(together.front()).arena_bytes);
  const std::int64_t arena = tapes.arena_bytes();
  Ledger ledger{
      {{"weights and statistics", weights},
       {"optimizer", optimizer},
       {"sums of the batch's parts", sums},
       {"gradients", used(Use::gradient)},
       {"kept activations", used(Use::kept)},
       {"kept in 16 bits", used(Use::half)},
       {"working tensors", used(Use::working)},
       {"batch", used(Use::input)},
       {"kernel scratch", used(Use::scratch)},
       {"gaps between tensors", training - tapes.resident_bytes() - usage.total(usage.peak_step)},
       {"other parts, at the same time", at_once - training},
       {"evaluation, beyond training", arena - at_once}}};
  for (LedgerLine& line : lines_beside(tapes, around, arena))
    ledger.lines.push_back(std::move(line));
  return ledger;
}

}  // namespace plimsoll
