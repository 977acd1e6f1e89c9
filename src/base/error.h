// How Plimsoll fails. Three tiers:
//   1. a request that cannot be done  -> throw one of the Errors of plimsoll/error.h;
//   2. an outcome the caller expects  -> a value (optional, variant, counter);
//   3. a bug of ours                  -> bug(), which aborts. Nothing a user controls may reach it.
#pragma once

#include <plimsoll/error.h>

#include <string_view>

namespace plimsoll {

// Our own bug: calls the handler that set_bug_handler() installed, if any, and aborts.
[[noreturn]] void bug(std::string_view what, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

// Aborts with `what` unless `condition` holds. For invariants of ours, never for user input.
inline void expect(bool condition, std::string_view what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  if (!condition) bug(what, file, line);
}

}  // namespace plimsoll
