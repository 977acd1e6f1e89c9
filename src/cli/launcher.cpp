#include "cli/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "cli/exit_code.h"
#include "cli/rank_process.h"
#include "run/checkpoint.h"

namespace plimsoll::cli {
namespace {

std::atomic<pid_t> child{0};
std::atomic<int> asked_to_end{0};

// mpirun leaves a second to those it ends by SIGTERM; SIGUSR1 it only hands on.
void hand_on_signal(int signal) {
  const bool is_second = asked_to_end.exchange(signal) != 0;
  if (const pid_t pid = child.load(); pid > 0) ::kill(pid, is_second ? SIGTERM : SIGUSR1);
}

// The words of this process but for the launcher's own.
std::vector<std::string> words_for_ranks() {
  std::vector<std::string> kept;
  bool skips = false;
  for (const std::string& word : command_line()) {
    if (std::exchange(skips, false)) continue;
    bool is_ours = false;
    for (const std::string option : {"--ranks", "--hosts", "--restarts", "--interface"}) {
      if (word == option) is_ours = skips = true;
      if (word.starts_with(option + "=")) is_ours = true;
    }
    if (!is_ours && word != "--verbose") kept.push_back(word);
  }
  return kept;
}

// What mpirun and the ranks say on standard error, but for mpirun's boxes, which are kept.
class Listener {
 public:
  void hear(std::string_view bytes) {
    line_ += bytes;
    for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      take(line_.substr(0, end + 1));
      line_.erase(0, end + 1);
    }
  }
  void end() {
    if (!line_.empty()) take(line_);
    line_.clear();
  }
  const std::string& boxes() const { return boxes_; }

 private:
  void take(const std::string& line) {
    const bool is_edge = line.size() > 40 && line.find_first_not_of("-\n") == std::string::npos;
    if (is_edge) {
      is_inside_ = !is_inside_;
    } else if (is_inside_) {
      boxes_ += line;
    } else {
      std::fputs(line.c_str(), stderr);
    }
  }

  std::string line_;
  std::string boxes_;
  bool is_inside_ = false;
};

struct Ended {
  int code = 0;
  std::string boxes;
};

Ended run_once(const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_file_error("a pipe to mpirun", "cannot be made", errno);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw_file_error("mpirun", "cannot be started", errno);
  if (pid == 0) {
    // It does not outlive us, and a terminal's Ctrl-C is for us to hand on.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(kFailed);
    ::setpgid(0, 0);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  child = pid;
  // A signal that came before there was anybody to hand it to.
  if (asked_to_end.load() != 0) ::kill(pid, SIGUSR1);
  Listener listener;
  char bytes[4096];
  while (true) {
    const ssize_t count = ::read(ends[0], bytes, sizeof bytes);
    if (count > 0) listener.hear({bytes, static_cast<std::size_t>(count)});
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  listener.end();
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  child = 0;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), listener.boxes()};
}

std::optional<std::int64_t> last_saved_step(const std::filesystem::path& out) {
  try {
    if (out.empty()) return std::nullopt;
    return Checkpoint(out / "weights" / "last.safetensors").state.step;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool answers(const std::string& host) {
  const char* const agent = std::getenv("OMPI_MCA_plm_rsh_agent");
  const std::string command =
      fmt::format("{} {} true > /dev/null 2>&1 < /dev/null",
                  agent == nullptr ? "ssh -o BatchMode=yes -o ConnectTimeout=5" : agent, host);
  return std::system(command.c_str()) == 0;
}

// The file that rank 0 writes its run directory into.
class RunNote {
 public:
  RunNote() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0) return;
    ::close(descriptor);
    path_ = name;
    ::setenv(kRunNote, path_.c_str(), 1);
  }
  ~RunNote() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove(path_, error);
  }
  RunNote(const RunNote&) = delete;
  RunNote& operator=(const RunNote&) = delete;
  std::filesystem::path run() const { return path_.empty() ? "" : read_system_file(path_); }

 private:
  std::filesystem::path path_;
};

void tell_of_death(const Ended& ended, const std::filesystem::path& out) {
  const std::optional<Death> death = find_death(ended.boxes);
  const std::optional<std::string> lost = find_lost_host(ended.boxes);
  const std::optional<std::int64_t> step = last_saved_step(out);
  std::string text = death  ? fmt::format("rank {} on {} was ended by signal {} ({})", death->rank,
                                          death->host, death->signal, ::strsignal(death->signal))
                     : lost ? fmt::format("the host {} is gone", *lost)
                            : fmt::format("mpirun ended with {}", ended.code);
  text += step ? fmt::format("; the checkpoint of step {} stands", *step)
               : "; no checkpoint was written";
  fmt::print(stderr, "plimsoll: {}\n", text);
  if (step) fmt::print(stderr, "resume: plimsoll train --resume {} --ranks N\n", out.string());
  // What mpirun says of itself: no slots, no such host.
  if (!death && !lost && !ended.boxes.empty()) fmt::print(stderr, "{}", ended.boxes);
}

// A rank that died may live the next time; what was refused will be again.
bool is_death(int code) {
  return code != kDone && code != kUsage && code != kDoesNotFit && code != kStoppedByWatchdog &&
         asked_to_end.load() == 0;
}

}  // namespace

int launch_ranks(const RankOptions& options, const LaunchedRun& run) {
  const RunNote note;
  std::vector<Host> hosts;
  if (!options.hosts.empty()) hosts = parse_hosts(options.hosts);
  std::int64_t ranks = options.ranks;
  std::vector<std::string> words = words_for_ranks();
  struct sigaction action {};
  action.sa_handler = hand_on_signal;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  std::int64_t saved = last_saved_step(run.out).value_or(-1);
  bool has_place = !run.out.empty();
  constexpr int kPauses[] = {1, 5, 30};  // seconds
  std::int64_t used = 0;                 // of the restarts
  while (true) {
    const std::vector<std::string> all = mpirun_words(options, ranks, hosts, run.threads, words);
    if (options.verbose) fmt::print(stderr, "{}\n", fmt::join(all, " "));
    std::fflush(nullptr);
    const Ended ended = run_once(all);
    const std::filesystem::path out = has_place ? run.out : note.run();
    if (asked_to_end.load() != 0 && ended.code != kDone) return 128 + asked_to_end.load();
    if (!is_death(ended.code)) return ended.code;
    // Those that end by themselves have said why.
    if (ended.code != kFailed || find_death(ended.boxes)) tell_of_death(ended, out);
    const std::int64_t now = last_saved_step(out).value_or(-1);
    // One that dies at the same place again will do so for ever.
    used += used == 0 || now > saved ? 1 : 2;
    saved = now;
    if (used > options.restarts) return ended.code;
    const auto pause = kPauses[std::min<std::int64_t>(used - 1, 2)];
    std::this_thread::sleep_for(std::chrono::seconds(pause));
    const std::size_t hosts_before = hosts.size();
    std::erase_if(hosts, [](const Host& host) { return !answers(host.name); });
    if (hosts_before > 0) {
      if (hosts.empty()) return ended.code;
      std::int64_t slots = 0;
      for (const Host& host : hosts) slots += host.slots;
      ranks = std::min({ranks, slots, run.parts});
    }
    if (!has_place && !out.empty() && std::ranges::find(words, "--out") == words.end())
      words.insert(words.end(), {"--out", out.string()});
    fmt::print(
        stderr, "restart {} of {}: {}from step {}\n", used, options.restarts,
        hosts_before > 0 ? fmt::format("{} of {} hosts answer; ", hosts.size(), hosts_before) : "",
        std::max<std::int64_t>(0, saved));
  }
}

int run_ranks(const RankOptions& options, const LaunchedRun& run,
              const std::function<int(dist::Group*)>& work) {
  options.check();
  const std::optional<Launch> launch = find_launch();
  if (options.ranks > 1 && !launch) return launch_ranks(options, run);
  if (options.ranks > 0 && launch && launch->ranks != options.ranks)
    throw UsageError(
        {.where = "--ranks",
         .got = fmt::format("{}, and mpirun has started {}", options.ranks, launch->ranks),
         .expected = "expected one of the two"});
  return run_as_rank(options.mixed_hosts, work);
}

void tell_launcher(const std::filesystem::path& out) {
  const char* const path = std::getenv(kRunNote);
  if (path == nullptr) return;
  try {
    write_file(path, out.string());
  } catch (const DataError&) {
    // On another host; the launcher then does not name it.
  }
}

}  // namespace plimsoll::cli
