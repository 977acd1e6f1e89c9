#include "cli/rank_process.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"
#include "base/packed.h"
#include "cli/exit_code.h"
#include "cli/mpirun.h"
#include "cli/options.h"
#include "dist/agreement.h"
#include "dist/mpi_transport.h"
#include "machine/kernel_library.h"

namespace plimsoll::cli {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0 || value > 1'000'000) return std::nullopt;
  return static_cast<int>(value);
}

// Read in pieces: what is mapped would count as ours.
std::string checksum_of_program() {
  const InputFile file = open_input(program_path());
  std::vector<std::byte> piece(std::size_t{1} << 20);
  std::uint32_t sum = 0;
  for (std::int64_t at = 0; at < file.size.count; at += std::ssize(piece)) {
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(file.size.count - at, std::ssize(piece)));
    file.read_at(at, std::span(piece).first(count));
    sum = crc32c(std::span(piece).first(count), sum);
  }
  return fmt::format("{} bytes, checksum {:08x}", file.size.count, sum);
}

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  name.resize(name.find('\0'));
  return name;
}

// One call on ourselves: containers of old forbid it, and then Open MPI fails in every message.
bool can_copy_between_processes() {
  char from = 1;
  char to = 0;
  struct iovec local {
    &to, 1
  };
  struct iovec remote {
    &from, 1
  };
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1;
}

// What the library takes from its environment, unless the user has said something else. Before any
// thread of MPI's.
void prepare_environment() {
  const auto set = [](const char* name, const char* value) { ::setenv(name, value, 0); };
  // Debian's default way between processes is TCP by libfabric, slower by an order of magnitude.
  set("OMPI_MCA_pml", "^cm");
  // The kernel counts sockets' buffers as memory of the container.
  set("OMPI_MCA_btl_tcp_sndbuf", "524288");
  set("OMPI_MCA_btl_tcp_rcvbuf", "524288");
  if (!can_copy_between_processes()) set("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  // Ranks do not outlive the launcher's process of their host.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void compare_ranks(dist::Group& group, bool mixed) {
  dist::check_same(group,
                   std::vector<dist::Fact>{{"plimsoll", PLIMSOLL_VERSION},
                                           {"program", checksum_of_program()},
                                           {"command line", joined(command_line())}},
                   "the same program and the same words on every host");
  if (mixed) return;
  dist::check_same(group,
                   std::vector<dist::Fact>{{"oneDNN", kernel_library_text()},
                                           {"glibc", ::gnu_get_libc_version()},
                                           {"processor", cpu_model()}},
                   "other processors round sums differently: --mixed-hosts allows it, and then "
                   "bits depend on who computes what");
}

// How this rank may run beside others of its host.
struct Neighbour {
  std::string host;
  std::string processors;  // that the scheduler gives it
  std::int64_t budget = 0;
  std::string bound_by;
};

std::vector<Neighbour> gather(dist::Group& group, const Neighbour& mine) {
  Packer packer;
  packer.put_text(mine.host);
  packer.put_text(mine.processors);
  packer.put(mine.budget);
  packer.put_text(mine.bound_by);
  std::vector<Neighbour> all;
  const std::vector<std::string> told = group.gather_texts(packer.bytes());
  for (int rank = 0; rank < group.ranks(); ++rank) {
    Unpacker unpacker(told[static_cast<std::size_t>(rank)], group.name(rank));
    Neighbour& one = all.emplace_back();
    one.host = unpacker.take_text();
    one.processors = unpacker.take_text();
    one.budget = unpacker.take<std::int64_t>();
    one.bound_by = unpacker.take_text();
    unpacker.end();
  }
  return all;
}

std::string processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) text += std::to_string(i) + " ";
  return text;
}

}  // namespace

std::filesystem::path program_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::vector<std::string> command_line() {
  const std::string text = read_system_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (!words.empty()) words.erase(words.begin());
  return words;
}

std::optional<Launch> find_launch() {
  const std::optional<int> ranks = number_in("OMPI_COMM_WORLD_SIZE");
  if (ranks) return Launch{.rank = number_in("OMPI_COMM_WORLD_RANK").value_or(0), .ranks = *ranks};
  const std::optional<int> rank = number_in("PMIX_RANK");
  const std::optional<int> tasks = number_in("SLURM_STEP_NUM_TASKS");
  if (rank && tasks) return Launch{.rank = *rank, .ranks = *tasks};
  if (number_in("PMI_SIZE").value_or(1) > 1)
    throw UsageError({.where = "mpiexec",
                      .got = "another MPI's: each process would be a run of its own",
                      .expected = "expected Open MPI's mpirun",
                      .hint = "`plimsoll train --ranks N` starts it"});
  return std::nullopt;
}

bool speaks() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const std::optional<int> rank = number_in(variable)) return *rank == 0;
  return true;
}

std::filesystem::path mpi_module() {
  const std::filesystem::path folder = program_path().parent_path();
  const std::filesystem::path beside = folder / "libplimsoll_mpi.so";
  std::error_code error;
  if (std::filesystem::exists(beside, error)) return beside;
  return folder / PLIMSOLL_MODULE_DIR / "libplimsoll_mpi.so";
}

int run_as_rank(bool mixed, const std::function<int(dist::Group*)>& work) {
  const std::optional<Launch> launch = find_launch();
  if (!launch || launch->ranks == 1) return work(nullptr);
  prepare_environment();
  dist::Group group([] { return dist::make_mpi_transport(mpi_module()); }, host_name());
  int code = 0;
  try {
    compare_ranks(group, mixed);
    code = work(&group);
  } catch (const std::exception& error) {
    code = exit_code_of(error);
    if (!group.is_ending()) {
      fmt::print(stderr, "plimsoll: {}: {}\n", group.name(group.rank()), error.what());
      std::fflush(nullptr);
      group.abort(code);
      return code;
    }
    if (group.rank() == 0) fmt::print(stderr, "plimsoll: {}\n", error.what());
  }
  std::fflush(nullptr);
  // Rank 0 has spoken before any other ends: a launcher ends all when one fails.
  group.close();
  return group.rank() == 0 ? code : 0;
}

namespace {

// As asked for, or its part of the cores of its host. `remark`: for people.
std::int64_t threads_of_rank(dist::Group& group, std::optional<std::int64_t> asked,
                             std::string& remark) {
  const std::vector<Neighbour> all =
      gather(group, {.host = group.host(group.rank()), .processors = processors()});
  const Neighbour& mine = all[static_cast<std::size_t>(group.rank())];
  std::int64_t sharing = 0;  // the same processors
  std::int64_t beside = 0;   // on the same host
  for (const Neighbour& one : all) {
    if (one.host != mine.host) continue;
    ++beside;
    if (one.processors == mine.processors) ++sharing;
  }
  const int usable = usable_cores();
  const std::int64_t threads = asked.value_or(std::max<std::int64_t>(1, usable / sharing));
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (sharing == 1 && beside * usable < online)
    remark = fmt::format("mpirun binds each rank to {} of {} cores; --bind-to none gives {} more",
                         usable, online, online / beside - usable);
  if (threads * sharing > usable && threads > 1)
    remark = fmt::format(
        "{} ranks of {} threads share {} cores; OMP_WAIT_POLICY=PASSIVE keeps "
        "their waiting threads from spinning",
        sharing, threads, usable);
  return threads;
}

// Its part of what its host has.
job::Budget budget_of_rank(dist::Group& group, const job::Budget& of_host) {
  const std::vector<Neighbour> all = gather(group, {.host = group.host(group.rank()),
                                                    .processors = {},
                                                    .budget = of_host.bytes,
                                                    .bound_by = of_host.bound_by});
  const Neighbour& mine = all[static_cast<std::size_t>(group.rank())];
  std::int64_t beside = 0;
  std::int64_t least = of_host.bytes;
  for (const Neighbour& one : all) {
    if (one.host != mine.host) continue;
    ++beside;
    // Each has looked at another moment.
    least = std::min(least, one.budget);
  }
  job::Budget budget = of_host;
  budget.bytes = least;
  return split_budget(budget, beside);
}

}  // namespace

RankShare share_of_host(dist::Group* group, std::optional<std::int64_t> threads,
                        const job::MemorySettings& memory, bool quiet) {
  if (group == nullptr) return {threads, budget_of(memory)};
  std::string remark;
  const std::int64_t each = threads_of_rank(*group, threads, remark);
  dist::check_same(*group, std::vector<dist::Fact>{{"--threads", std::to_string(each)}},
                   "--threads N gives all ranks as many");
  const bool leads = group->rank() == 0;
  if (leads && !quiet) {
    std::string hosts;
    for (int rank = 0; rank < group->ranks(); ++rank)
      if (rank == 0 || group->host(rank) != group->host(rank - 1))
        hosts += (hosts.empty() ? "" : ", ") + group->host(rank);
    // The launcher turns Ctrl-C into SIGUSR1; a plain mpirun does not.
    const bool is_launched = std::getenv(kRunNote) != nullptr;
    fmt::print(
        "{} ranks on {}{}\n", group->ranks(), hosts,
        is_launched ? "" : "; SIGUSR1 finishes the step and saves, Ctrl-C ends mpirun at once");
    if (!remark.empty()) fmt::print("{}\n", remark);
  }
  return {each, budget_of_rank(*group, leads ? budget_of(memory) : job::find_budget(memory))};
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
