// What `plimsoll top` shows, as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "run/run_status.h"

namespace plimsoll::cli {

// One row for each run; those that cannot be read say why. `now`: seconds since 1970.
std::string runs_table(std::span<const SeenRun> runs, double now);

// One run at length: what it does, and its memory by ledger line beside what the kernel counts.
std::string run_details(const SeenRun& run, double now);

// Without control characters: names come from files, and a terminal obeys what it is sent.
std::string printable(std::string_view text);

}  // namespace plimsoll::cli
