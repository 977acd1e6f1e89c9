#include "cli/rank_share.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/packed.h"
#include "cli/mpirun.h"
#include "cli/options.h"
#include "dist/agreement.h"
#include "dist/rank_place.h"

namespace plimsoll::cli {
namespace {

// Those that the scheduler gives this process.
std::string processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) text += std::to_string(i) + " ";
  return text;
}

// Who shares a host with this rank, itself among them.
struct Neighbours {
  std::int64_t count = 0;
  std::int64_t sharing = 0;  // the same processors
  // The least that one of them found there to be: each has looked at another moment.
  std::int64_t budget = 0;
};

Neighbours find_neighbours(dist::Group& group, std::int64_t budget) {
  const std::string own = processors();
  Packer packer;
  packer.put_text(own);
  packer.put(budget);
  Neighbours found{.budget = budget};
  const std::vector<std::string> told = group.gather_texts(packer.bytes());
  for (int rank = 0; rank < group.ranks(); ++rank) {
    Unpacker unpacker(told[static_cast<std::size_t>(rank)], group.name(rank));
    const bool shares = unpacker.take_text() == own;
    const auto theirs = unpacker.take<std::int64_t>();
    unpacker.end();
    if (group.host(rank) != group.host(group.rank())) continue;
    ++found.count;
    found.sharing += shares ? 1 : 0;
    found.budget = std::min(found.budget, theirs);
  }
  return found;
}

// What keeps ranks of so many threads from more, in words; empty where nothing does.
std::string remark_on(const Neighbours& found, std::int64_t threads) {
  const int usable = usable_cores();
  if (threads * found.sharing > usable && threads > 1)
    return fmt::format(
        "{} ranks of {} threads share {} cores; OMP_WAIT_POLICY=PASSIVE keeps their waiting "
        "threads from spinning",
        found.sharing, threads, usable);
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (found.sharing == 1 && found.count * usable < online)
    return fmt::format("mpirun binds each rank to {} of {} cores; --bind-to none gives {} more",
                       usable, online, online / found.count - usable);
  return {};
}

void print_ranks(const dist::Group& group, const std::string& remark) {
  std::string hosts;
  for (int rank = 0; rank < group.ranks(); ++rank)
    if (rank == 0 || group.host(rank) != group.host(rank - 1))
      hosts += (hosts.empty() ? "" : ", ") + group.host(rank);
  // The launcher turns Ctrl-C into SIGUSR1; a plain mpirun does not.
  const bool is_launched = std::getenv(kRunNote) != nullptr;
  fmt::print(
      "{} ranks on {}{}\n", group.ranks(), hosts,
      is_launched ? "" : "; SIGUSR1 finishes the step and saves, Ctrl-C ends mpirun at once");
  if (!remark.empty()) fmt::print("{}\n", remark);
}

}  // namespace

RankShare share_of_host(dist::Group* group, std::optional<std::int64_t> threads,
                        const job::MemorySettings& memory, bool quiet) {
  if (group == nullptr) return {threads, budget_of(memory)};
  const bool leads = dist::leads(group);
  job::Budget budget = dist::make_on_all(
      group, [&] { return leads ? budget_of(memory) : job::find_budget(memory); });
  const Neighbours found = find_neighbours(*group, budget.bytes);
  const std::int64_t each =
      threads.value_or(std::max<std::int64_t>(1, usable_cores() / found.sharing));
  dist::check_same(*group, std::vector<dist::Fact>{{"--threads", std::to_string(each)}},
                   "--threads N gives all ranks as many");
  if (leads && !quiet) print_ranks(*group, remark_on(found, each));
  budget.bytes = found.budget;
  return {each, split_budget(budget, found.count)};
}

job::Budget split_budget(const job::Budget& of_host, std::int64_t ranks) {
  job::Budget budget = of_host;
  if (of_host.bytes == kUnlimited.count) return budget;
  budget.bytes = std::max<std::int64_t>(0, of_host.bytes - kLauncherBytes) / ranks;
  budget.bound_by = fmt::format("{} {}, for {} rank{} of this host", of_host.bound_by,
                                to_string(Bytes{of_host.bytes}), ranks, ranks == 1 ? "" : "s");
  return budget;
}

}  // namespace plimsoll::cli
