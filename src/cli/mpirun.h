// The words that mpirun is started with, and what it says when a rank dies.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cli {

struct RankOptions {
  std::int64_t ranks = 0;  // 0: as started
  std::string hosts;       // "a:2,b:2"; empty: this one
  std::int64_t restarts = 0;
  std::string interface;  // of the network; empty: MPI chooses
  double timeout = 600;   // seconds that a rank may be silent
  bool mixed_hosts = false;
  bool verbose = false;

  void add_to(CLI::App& command);
  // UsageError.
  void check() const;
};

// More ranks than parts would have nothing to do. UsageError.
void check_parts(std::int64_t ranks, std::int64_t parts);

struct Host {
  std::string name;
  std::int64_t slots = 1;
};
// "a:2,b". UsageError.
std::vector<Host> parse_hosts(const std::string& text);

// The words that start so many ranks on those hosts, mpirun's own first; `words` are the program's.
std::vector<std::string> mpirun_words(const RankOptions& options, std::int64_t ranks,
                                      const std::vector<Host>& hosts,
                                      std::optional<std::int64_t> threads,
                                      const std::vector<std::string>& words);

// How a rank ended, in mpirun's words; nothing if the text does not say.
struct Death {
  int rank = 0;
  std::string host;
  int signal = 0;
};
std::optional<Death> find_death(const std::string& text);
// The host that mpirun has lost, likewise.
std::optional<std::string> find_lost_host(const std::string& text);

// Where a launched rank 0 tells its run directory: a file of that name.
inline constexpr const char* kRunNote = "PLIMSOLL_RUN_NOTE";

}  // namespace plimsoll::cli
