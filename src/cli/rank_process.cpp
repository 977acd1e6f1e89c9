#include "cli/rank_process.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/exit_code.h"
#include "dist/agreement.h"
#include "dist/mpi_transport.h"
#include "machine/kernel_library.h"

namespace plimsoll::cli {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::optional<std::int64_t> value = parse_integer(text == nullptr ? "" : text);
  if (!value || *value < 0 || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
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
  // Over TCP it would put long messages whole, and answer none that comes meanwhile: half the rate.
  set("OMPI_MCA_btl_tcp_flags", "send,inplace");
  if (!can_copy_between_processes()) set("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  // Ranks do not outlive the launcher's process of their host.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void compare_ranks(dist::Group& group, bool mixed) {
  dist::check_same(group,
                   std::vector<dist::Fact>{{"plimsoll", PLIMSOLL_VERSION},
                                           {"program", checksum_of_program()},
                                           {"command line", join(command_line(), " ")}},
                   "the same program and the same words on every host");
  if (mixed) return;
  dist::check_same(group,
                   std::vector<dist::Fact>{{"oneDNN", kernel_library_text()},
                                           {"glibc", ::gnu_get_libc_version()},
                                           {"processor", cpu_model()}},
                   "other processors round sums differently: --mixed-hosts allows it, and then "
                   "bits depend on who computes what");
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

}  // namespace plimsoll::cli
