// Standard output and standard error, which may go away or fill up while a run goes on.
#pragma once

namespace plimsoll::cli {

// From here on, printing to stdout and stderr neither throws nor ends the process: what cannot be
// written is lost, and remembered. Called once, before anything is printed.
void keep_streams_going();

// Writes out what is still held. Returns the errno of the first failure to write standard output,
// or 0. A reader who went away (`| head`) has what it wanted and is no failure.
int finish_standard_output();

// Whether people look at it as it is written. mpirun gives its ranks a terminal, whatever is behind
// it: only our launcher knows, and says so in kTerminal.
bool is_terminal(int descriptor);
inline constexpr const char* kTerminal = "PLIMSOLL_TERMINAL";

}  // namespace plimsoll::cli
