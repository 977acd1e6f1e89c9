// `plimsoll top`: runs on this machine, as nvidia-smi shows what is on a GPU.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/top_text.h"
#include "run/run_status.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TopSettings {
  std::string run;
  bool json = false;
};

volatile std::sig_atomic_t g_stop = 0;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<SeenRun> look(const TopSettings& settings) {
  if (settings.run.empty()) return find_runs();
  std::vector<SeenRun> runs;
  runs.push_back(look_at_run(settings.run));
  return runs;
}

Json to_json(const SeenRun& run) {
  Json object = run.status ? run.status->json : Json::object();
  object["run"] = run.folder.string();
  object["condition"] = to_string(run.condition);
  object["live_resident_bytes"] = run.resident_now ? Json(run.resident_now->count) : Json(nullptr);
  object["problem"] = run.problem.empty() ? Json(nullptr) : Json(run.problem);
  return object;
}

std::string page(const std::vector<SeenRun>& runs) {
  if (runs.empty())
    return "no runs: no process of yours holds a run.lock, and nothing under ./runs has changed "
           "in the last day\n";
  const double time = now();
  std::string text = runs_table(runs, time);
  if (runs.size() == 1) text += run_details(runs[0], time);
  return text;
}

// The terminal in a state for a page that is redrawn; as it was when this goes.
class LivePage {
 public:
  LivePage() {
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
      struct termios keys = before_;
      keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      action.sa_handler = [](int) { g_stop = 1; };
      ::sigaction(signal, &action, nullptr);
    }
    put("\x1b[?1049h\x1b[?25l");
  }
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;
  ~LivePage() {
    put("\x1b[?25h\x1b[?1049l");
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  // Cut to the size of the terminal, so that a long line does not push the page up.
  static void show(const std::string& text) {
    struct winsize size {};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::size_t columns = known ? size.ws_col : 80;
    const std::size_t rows = known ? size.ws_row : 24;
    const std::vector<std::string_view> lines = split(text, '\n');
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < std::min(lines.size(), rows - std::min<std::size_t>(1, rows)); ++i)
      frame += std::string(lines[i].substr(0, columns)) + "\x1b[K\r\n";
    put(frame + "\x1b[J");
  }

  // Whether to go on after a second.
  bool wait() const {
    struct pollfd keys {
      .fd = STDIN_FILENO, .events = POLLIN, .revents = 0
    };
    if (::poll(&keys, has_keys_ ? 1 : 0, 1000) > 0 && (keys.revents & POLLIN) != 0) {
      char key = 0;
      if (::read(STDIN_FILENO, &key, 1) == 1 && (key == 'q' || key == 'Q')) return false;
    }
    return g_stop == 0;
  }

 private:
  static void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  struct termios before_ {};
  bool has_keys_ = false;
};

int watch(const TopSettings& settings) {
  // A bad RUN is refused before the page opens; one that vanishes later is told on the page.
  std::vector<SeenRun> runs = look(settings);
  LivePage live;
  do {
    try {
      runs = look(settings);
      LivePage::show(page(runs) + "\nq: quit");
    } catch (const Error& error) {
      LivePage::show(printable(error.what()) + "\n\nq: quit");
    }
  } while (live.wait());
  return 0;
}

int run(const TopSettings& settings) {
  if (settings.json) {
    Json list = Json::array();
    for (const SeenRun& seen : look(settings)) list.push_back(to_json(seen));
    fmt::print("{}", json_text(Json{{"runs", list}}));
    return 0;
  }
  if (isatty(STDOUT_FILENO) == 1) return watch(settings);
  fmt::print("{}", page(look(settings)));
  return 0;
}

}  // namespace

Entry add_top(CLI::App& command) {
  const auto settings = std::make_shared<TopSettings>();
  command.add_option("RUN", settings->run,
                     "directory of a run; without it all that are found: running ones, and those "
                     "under ./runs of the last day");
  command.add_flag("--json", settings->json, "one JSON object on standard output, once");
  command.footer(
      "Refreshed every second until q or Ctrl-C; printed once where the output is no terminal.\n"
      "It only reads: a run cannot be disturbed by it.\n"
      "Example: plimsoll top runs/xception_mini");
  return [settings] { return run(*settings); };
}

}  // namespace plimsoll::cli
