// Runs the program as a user would, and reads what it wrote.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace plimsoll {

struct Outcome {
  int code = -1;  // negative: ended by a signal
  std::string output;
};

// Of any command: standard output and standard error together.
inline Outcome run_command(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char piece[4096];
  while (const std::size_t count = fread(piece, 1, sizeof(piece), pipe))
    outcome.output.append(piece, count);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

inline Outcome run_program(const std::string& arguments, const std::string& before = "") {
  return run_command(before + std::string(PLIMSOLL_PROGRAM) + " " + arguments);
}

inline std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace plimsoll
