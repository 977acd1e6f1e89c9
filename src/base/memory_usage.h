// What the kernel says this process holds.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace plimsoll {

// Whether all of it is the program's own: a sanitizer's shadow memory, beside it, is in no budget.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kUsageIsOwn = false;
#else
inline constexpr bool kUsageIsOwn = true;
#endif

struct MemoryUsage {
  Bytes high_water;   // VmHWM: the most that was ever resident
  Bytes resident;     // VmRSS: what is resident now
  Bytes page_tables;  // VmPTE: what the kernel spends to map it; counted against a container too

  // What is held against a budget: at the most so far, and now.
  Bytes peak() const { return high_water + page_tables; }
  Bytes now() const { return resident + page_tables; }
};

// Reads /proc/self/status. Allocates nothing, so it may be called between steps; the kernel's own
// figures may lag by some pages per thread. DataError if /proc is not there.
MemoryUsage memory_usage();

// Gives back what was freed but is still held, after something large and rare.
void release_free_memory();

// The same from the text of a status file.
MemoryUsage parse_memory_usage(std::string_view status);

}  // namespace plimsoll
