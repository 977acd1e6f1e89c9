#include "cli/mpirun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "base/cpu.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/rank_process.h"
#include "cli/standard_streams.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kMostRanks = 4096;

std::filesystem::path find_mpirun() {
  const char* const path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::filesystem::path file = std::filesystem::path(folder) / "mpirun";
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  throw UsageError({.where = "--ranks",
                    .got = "there is no mpirun",
                    .expected = "this needs Open MPI",
                    .hint = "apt-get install openmpi-bin"});
}

}  // namespace

void RankOptions::add_to(CLI::App& command) {
  begin_group(command, "ranks");
  command.add_option("--ranks", ranks,
                     "processes that train together, at most one per part of --accumulate; the "
                     "same bits with any number");
  command.add_option("--hosts", hosts, "where they run: a:2,b:2");
  command.add_option("--restarts", restarts, "start them again so often where one dies");
  command.add_option("--interface", interface, "the network between hosts: eth0");
  command.add_option("--rank-timeout", timeout, "seconds that a rank may be silent before all end")
      ->capture_default_str();
  command.add_flag("--mixed-hosts", mixed_hosts,
                   "hosts of different processors; bits then depend on who computes what");
  command.add_flag("--verbose", verbose, "print the words that start the ranks");
}

void RankOptions::check() const {
  const auto refuse = [](const char* option, const std::string& got, const char* expected) {
    throw UsageError({.where = option, .got = got, .expected = expected});
  };
  if (ranks < 0 || ranks > kMostRanks)
    refuse("--ranks", std::to_string(ranks), "expected 1 to 4096");
  if (restarts < 0) refuse("--restarts", std::to_string(restarts), "expected 0 or more");
  if (!(timeout >= 5)) refuse("--rank-timeout", fmt::format("{:g}", timeout), "expected 5 or more");
  if (!hosts.empty()) parse_hosts(hosts);
}

void check_parts(std::int64_t ranks, std::int64_t parts) {
  if (ranks > parts)
    throw UsageError({.where = "--ranks",
                      .got = fmt::format("{} ranks for a batch of {} part{}", ranks, parts,
                                         parts == 1 ? "" : "s"),
                      .expected = "expected no more ranks than parts",
                      .hint = fmt::format("--accumulate {}", ranks)});
}

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  for (const std::string_view one : split(text, ',')) {
    const std::size_t colon = std::min(one.find(':'), one.size());
    const std::string name(one.substr(0, colon));
    const std::optional<std::int64_t> slots =
        colon == one.size() ? 1 : parse_integer(one.substr(colon + 1));
    const bool is_name = !name.empty() && name[0] != '-' &&
                         name.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == std::string::npos;
    if (!is_name || !slots || *slots < 1 || *slots > kMostRanks)
      throw UsageError({.where = "--hosts",
                        .got = "'" + std::string(one) + "'",
                        .expected = "expected names with how many ranks each: a:2,b:2"});
    hosts.push_back({name, *slots});
  }
  return hosts;
}

std::optional<Death> find_death(const std::string& text) {
  static const std::regex kDied(
      R"(process rank (\d+) with PID \d+ on node (\S+) exited\s+on\s+signal (\d+))");
  // mpirun breaks its lines anywhere.
  std::string one_line = text;
  std::ranges::replace(one_line, '\n', ' ');
  std::smatch found;
  if (!std::regex_search(one_line, found, kDied)) return std::nullopt;
  return Death{std::stoi(found[1]), found[2], std::stoi(found[3])};
}

std::optional<std::string> find_lost_host(const std::string& text) {
  static const std::regex kLost(R"(Remote daemon: \S+ on node (\S+))");
  std::smatch found;
  if (!std::regex_search(text, found, kLost)) return std::nullopt;
  return found[1].str();
}

std::vector<std::string> mpirun_words(const RankOptions& options, std::int64_t ranks,
                                      const std::vector<Host>& hosts,
                                      std::optional<std::int64_t> threads,
                                      const std::vector<std::string>& words) {
  std::vector<std::string> all{find_mpirun().string()};
  const auto add = [&](std::initializer_list<std::string> more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  if (::geteuid() == 0) add({"--allow-run-as-root"});
  add({"-n", std::to_string(ranks)});
  std::int64_t here = ranks;
  if (!hosts.empty()) {
    std::string list;
    here = 0;
    for (const Host& host : hosts) {
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.slots);
      here = std::max(here, host.slots);
    }
    add({"--host", list});
  }
  const std::int64_t team = threads.value_or(std::max<std::int64_t>(1, usable_cores() / here));
  if (team * here <= usable_cores() && hosts.empty()) {
    add({"--map-by", fmt::format("slot:PE={}", team), "--bind-to", "core"});
  } else {
    // By itself it would bind every rank to one core.
    add({"--bind-to", "none", "--oversubscribe"});
    if (team > 1 && team * here > usable_cores()) add({"-x", "OMP_WAIT_POLICY=PASSIVE"});
  }
  // A host that is gone is noticed in some 20 s instead of minutes.
  add({"--mca", "oob_tcp_keepalive_time", "10", "--mca", "oob_tcp_keepalive_intvl", "3", "--mca",
       "oob_tcp_keepalive_probes", "3"});
  if (!options.interface.empty())
    add({"--mca", "btl_tcp_if_include", options.interface, "--mca", "oob_tcp_if_include",
         options.interface});
  if (std::getenv(kRunNote) != nullptr) add({"-x", kRunNote});
  if (is_terminal(STDOUT_FILENO)) add({"-x", std::string(kTerminal) + "=1"});
  add({program_path().string()});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace plimsoll::cli
