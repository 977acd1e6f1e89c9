// What a run holds, line by line: predicted before it starts, measured after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/tapes.h"

namespace plimsoll {

// How a line is known, and since when what it says is held.
enum class LineKind : std::uint8_t {
  counted,  // by the plan or the data; held when the arena is mapped and kernels are ready
  by_rule,  // calibrated (bench/ledger); held then, too
  later,    // held once steps are done
};

struct LedgerLine {
  std::string line;
  std::int64_t bytes = 0;
  LineKind kind = LineKind::counted;
  bool operator==(const LedgerLine&) const = default;
};

// Lines that are named elsewhere, too.
inline constexpr const char* kInputLine = "input buffers";
inline constexpr const char* kIndexLine = "index of the data";
inline constexpr const char* kFilesLine = "run directory, in memory";

// Pictures on the sheet of a run's first batch.
inline constexpr std::size_t kSheetTiles = 18;

// Adds up to the high-water mark of the process: resident memory and its page tables.
struct Ledger {
  std::vector<LedgerLine> lines;
  std::int64_t total() const;
  std::int64_t to_come() const;  // of what is held later
};

// What a run writes into its directory, where that directory is memory. All zero on a disk.
struct RunFiles {
  std::int64_t checkpoints = 0;  // at once, the one that is being written included
  std::int64_t weights = 0;      // files of weights alone
  std::int64_t histograms = 0;   // of every weight
  std::int64_t records = 0;      // bytes of everything else
};

// What a run needs beside the arena.
struct Surroundings {
  std::int64_t index_bytes = 0;    // lists of samples and classes
  std::int64_t opening_bytes = 0;  // the most beside them while the data is opened and scanned
  std::int64_t input_bytes = 0;    // batches that wait
  std::int64_t decoder_bytes = 0;  // code of image decoders
  std::int64_t worker_bytes = 0;   // of each data worker: a file, its decoder, its thread
  int workers = 0;                 // that read data
  int threads = 1;
  std::int64_t tally_bytes = 0;     // of what an evaluation adds up
  std::int64_t exchange_bytes = 0;  // of messages to other ranks (Trainer::exchange_bytes)
  std::int64_t batch = 0;           // of a run that draws its first batch; 0: none is drawn
  bool spills = false;
  RunFiles files;

  Surroundings with_workers(int count) const {
    Surroundings fewer = *this;
    fewer.workers = count;
    return fewer;
  }
};

// What a run holds for every class beside weights: its name, counts of an evaluation, and the names
// in a checkpoint's header while that is written.
std::int64_t class_bytes(const std::vector<std::string>& names);

// Bytes of the process for an arena of that size.
std::int64_t process_bytes(const PlannedTapes& tapes, const Surroundings& around,
                           std::int64_t arena_bytes);

// The lines of tapes that were planned by `fates`. Its total is process_bytes() of their arena.
Ledger make_ledger(const PlannedTapes& tapes, const Surroundings& around, const NamedFates& fates);

}  // namespace plimsoll
