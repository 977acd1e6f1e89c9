#include "cli/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cli/progress.h"

namespace plimsoll::cli {
namespace {

constexpr double kLongSilence = 30;  // seconds without news that deserve a word
constexpr double kLongSilenceOfARank = 5;
constexpr std::size_t kLongestPath = 32;
constexpr std::size_t kColumns = 10;
using RunRow = std::array<std::string, kColumns>;

const RunRow kHeads = {"RUN",  "PID",     "STATE", "EPOCH",     "STEP",
                       "LOSS", "ACC/VAL", "IMG/S", "DATA WAIT", "MEMORY/BUDGET"};

template <typename T>
std::string or_dash(const std::optional<T>& value, const char* pattern) {
  return value ? fmt::format(fmt::runtime(pattern), *value) : "-";
}

std::string progress_text(std::optional<std::int64_t> at, std::optional<std::int64_t> of) {
  return or_dash(at, "{}") + (of ? fmt::format("/{}", *of) : "");
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : "-";
}

std::string bytes_text(const std::optional<Bytes>& bytes, const char* without) {
  return bytes ? to_string(*bytes) : without;
}

// The kernel's word counts; the status file's is up to a second old.
std::optional<Bytes> resident(const SeenRun& run) {
  return run.resident_now ? run.resident_now : run.status->resident;
}

// "training on 4 ranks".
std::string doing_text(const RunStatus& status) {
  return status.ranks.empty() ? status.state
                              : fmt::format("{} on {} ranks", status.state, status.ranks.size());
}

std::string state_text(const SeenRun& run, double now) {
  const RunStatus& status = *run.status;
  switch (run.condition) {
    case RunCondition::running: {
      const double silence = status.updated ? now - *status.updated : 0;
      return doing_text(status) +
             (silence > kLongSilence ? ", silent " + duration_text(silence) : "");
    }
    case RunCondition::ended: return status.state;
    case RunCondition::crashed: return "crashed (" + status.state + ")";
    case RunCondition::unreadable: break;
  }
  return "";
}

std::string shortened_path(const std::string& path) {
  return path.size() <= kLongestPath ? path : "..." + path.substr(path.size() - kLongestPath + 3);
}

RunRow row_of(const SeenRun& run, double now) {
  const RunStatus& status = *run.status;
  return {shortened_path(run.folder.string()),
          std::to_string(status.pid),
          state_text(run, now),
          progress_text(status.epoch, status.epochs),
          progress_text(status.step, status.steps),
          or_dash(status.loss, "{:.4g}"),
          share_text(status.accuracy) + "/" + share_text(status.val_accuracy),
          or_dash(status.images_per_second, "{:.1f}"),
          status.data_wait_percent ? fmt::format("{:.1f}%", *status.data_wait_percent) : "-",
          bytes_text(resident(run), "-") + " / " + bytes_text(status.budget, "unlimited")};
}

std::string bar(double share) {
  constexpr int kCells = 30;
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kCells));
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kCells - full), '.') + "]";
}

void add_memory(std::string& text, const SeenRun& run) {
  const RunStatus& status = *run.status;
  std::size_t width = 28;
  for (const LedgerLine& line : status.ledger) width = std::max(width, line.line.size());
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<{}}  {:>12}\n", printable(name), width, value);
  };
  text += "\nmemory, as planned\n";
  for (const LedgerLine& line : status.ledger) add(line.line, to_string(Bytes{line.bytes}));
  if (status.predicted) add("predicted in all", to_string(*status.predicted));
  text += "memory, as measured\n";
  if (run.resident_now) add("resident now, by the kernel", to_string(*run.resident_now));
  if (status.resident) add("resident, by its own report", to_string(*status.resident));
  if (status.peak) add("peak", to_string(*status.peak));
  if (const auto now = resident(run); now && status.budget && status.budget->count > 0) {
    const double share = *now / *status.budget;
    text += fmt::format("  {} {:.1f} % of the budget of {}\n", bar(share), share * 100,
                        to_string(*status.budget));
  } else if (!status.budget) {
    text += "  no budget was set\n";
  }
}

void add_ranks(std::string& text, const RunStatus& status) {
  if (status.ranks.empty()) return;
  std::size_t width = 4;
  for (const RankStatus& rank : status.ranks) width = std::max(width, rank.host.size());
  text += fmt::format("\n  {:>4}  {:<{}}{:>10}{:>10}{:>11}{:>12}{:>12}  {}\n", "RANK", "HOST",
                      width, "STEP", "S/STEP", "FOR DATA", "FOR OTHERS", "RESIDENT", "DOING");
  for (std::size_t i = 0; i < status.ranks.size(); ++i) {
    const RankStatus& rank = status.ranks[i];
    const std::string silence = rank.silent_seconds > kLongSilenceOfARank
                                    ? ", silent " + duration_text(rank.silent_seconds)
                                    : "";
    text +=
        fmt::format("  {:>4}  {:<{}}{:>10}{:>10.3g}{:>9.3g} s{:>10.3g} s{:>12}  {}\n", i,
                    printable(rank.host), width, rank.step, rank.step_seconds, rank.data_seconds,
                    rank.others_seconds, to_string(rank.resident), printable(rank.doing + silence));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return result;
}

std::string runs_table(std::span<const SeenRun> runs, double now) {
  std::vector<RunRow> rows = {kHeads};
  for (const SeenRun& run : runs)
    if (run.status) rows.push_back(row_of(run, now));
  std::array<std::size_t, kColumns> widths{};
  for (RunRow& row : rows)
    for (std::size_t c = 0; c < kColumns; ++c) {
      row[c] = printable(row[c]);
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string text;
  // The first and the third are words, the others numbers.
  for (const RunRow& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < kColumns; ++c)
      line += c == 0 || c == 2 ? fmt::format("{:<{}}  ", row[c], widths[c])
                               : fmt::format("{:>{}}  ", row[c], widths[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (const SeenRun& run : runs)
    if (!run.status)
      text += printable(run.folder.string()) + ": cannot be read: " + printable(run.problem) + "\n";
  return text;
}

std::string run_details(const SeenRun& run, double now) {
  if (!run.status) return "";
  const RunStatus& status = *run.status;
  std::string text = fmt::format("\n{} on {}", printable(status.model), printable(status.data));
  const double until = run.condition == RunCondition::running ? now : status.updated.value_or(now);
  if (status.started) text += ", for " + duration_text(std::max(0.0, until - *status.started));
  if (run.condition == RunCondition::running && status.eta_seconds)
    text += ", " + duration_text(std::max(0.0, *status.eta_seconds)) + " left";
  if (status.lr) text += fmt::format(", lr {:.3g}", *status.lr);
  if (!status.stopped_by.empty()) text += ", stopped by " + printable(status.stopped_by);
  text += "\n";
  if (run.condition == RunCondition::crashed)
    text += "it does not run any more and did not say why; the same command again resumes it\n";
  add_ranks(text, status);
  add_memory(text, run);
  return text;
}

}  // namespace plimsoll::cli
