// What the program's exit codes mean.
#pragma once

#include <exception>

namespace plimsoll::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDoesNotFit = 3;
inline constexpr int kStoppedByWatchdog = 4;

int exit_code_of(const std::exception& error);

}  // namespace plimsoll::cli
