// What a run holds, line by line: predicted before it starts, measured after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/session.h"

namespace plimsoll {

struct LedgerLine {
  std::string line;
  std::int64_t bytes = 0;
  bool operator==(const LedgerLine&) const = default;
};

// Logs, events and pictures of a run: the sheet of its first batch, as pixels, as PNG and as an
// event, takes the most.
inline constexpr std::int64_t kRecordsBuffer = std::int64_t{6} << 20;

// Adds up to the high-water mark of the process: resident memory and its page tables.
struct Ledger {
  std::vector<LedgerLine> lines;
  std::int64_t total() const;
};

// What a run needs beside the arena.
struct Surroundings {
  std::int64_t input_bytes = 0;   // index and queue
  std::int64_t worker_bytes = 0;  // of each data worker: a file, its decoder, its thread
  int workers = 0;                // that read data
  int threads = 1;

  Surroundings with_workers(int count) const {
    Surroundings fewer = *this;
    fewer.workers = count;
    return fewer;
  }
};

// Bytes of the process for an arena of that size.
std::int64_t process_bytes(const Session& session, const Surroundings& around,
                           std::int64_t arena_bytes);

// The lines of a planned session whose training tape follows `fates`. Its total is process_bytes()
// of the session's arena.
Ledger make_ledger(const Session& session, const Surroundings& around, const Fates& fates);

}  // namespace plimsoll
