// What happens when we find a bug of our own.
#pragma once

#include <string_view>

namespace plimsoll {

// bug() calls it, and aborts when it returns. It may print, write a report, or end the process in
// its own way.
using BugHandler = void (*)(std::string_view what, const char* file, int line);

// For the whole process; null, as at the start: nothing is said. Returns the one before.
BugHandler set_bug_handler(BugHandler handler);

}  // namespace plimsoll
