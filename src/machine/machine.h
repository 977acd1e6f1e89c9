// What this machine and container give a run, and where that is too little.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "machine/remark.h"

namespace plimsoll {

struct Machine {
  std::string processor;
  int cores = 1;         // that the scheduler gives us
  double quota = 0;      // of processors, by control groups; 0: none
  int usable = 1;        // threads worth starting
  double cores_now = 1;  // that so many threads get beside other work
  Bytes memory;          // of the machine
  std::vector<MemoryLimit> limits;
  Bytes swap, swap_free;
  std::filesystem::path out;  // the folder that was looked at: --out or the nearest that exists
  std::string file_system;
  Bytes disk_free;
  double write_mb_per_second = 0;  // 0: could not be measured
  Bytes shm, shm_free;
  std::int64_t open_files = 0;  // the limit of this process
  std::int64_t processes = 0;   // the tightest limit of threads; 0: none
  std::string time;             // by the clock, UTC
};

// Looks and measures; writes 64 MiB to `out` and removes it. What is wrong goes to `remarks`.
Machine examine_machine(const std::filesystem::path& out, std::vector<Remark>& remarks);

}  // namespace plimsoll
