#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "base/bytes.h"
#include "base/memory_usage.h"
#include "cli/standard_streams.h"

namespace plimsoll::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{200};
constexpr std::chrono::seconds kPlainLine{10};
constexpr std::size_t kBarLength = 24;

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

PhaseBar::PhaseBar(std::string what, bool quiet)
    : what_(std::move(what)), quiet_(quiet), terminal_(is_terminal(STDERR_FILENO)) {}

PhaseBar::~PhaseBar() {
  if (drawn_ && terminal_) fmt::print(stderr, "\r\x1b[K");
}

void PhaseBar::show(std::int64_t done, std::int64_t total, double seconds,
                    const std::string& more) {
  if (quiet_ || total <= 0 || seconds - last_ < (terminal_ ? 0.2 : 10)) return;
  last_ = seconds;
  drawn_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double left = share > 0 ? seconds / share - seconds : 0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarLength));
  fmt::print(stderr, "{}{} {}{} {:3.0f} % · {} · eta {}{}", terminal_ ? "\r\x1b[K" : "", what_,
             std::string(filled, '#'), std::string(kBarLength - filled, '.'), share * 100, more,
             duration_text(left), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

std::string value_text(const Metric& metric, double value) {
  return metric.unit == Metric::Unit::share ? fmt::format("{:.2f} %", 100 * value)
                                            : fmt::format("{:.4f}", value);
}

ProgressPrinter::ProgressPrinter(bool quiet, std::int64_t budget_bytes, const Task& task)
    : quiet_(quiet),
      budget_bytes_(budget_bytes),
      metric_(task.metrics()[0]),
      headline_(headline_of(task)),
      validated_(task.metrics()[headline_]),
      terminal_(is_terminal(STDOUT_FILENO)),
      last_(std::chrono::steady_clock::now()) {}

std::string ProgressPrinter::line_of(const Progress& p) const {
  const std::string resident = to_string(memory_usage().resident);
  return fmt::format(
      "epoch {}/{} · {}{}/{} · loss {:.4f} · {} {:.4f} · {:.1f} img/s · eta {} · mem {}{} · data "
      "wait {:.1f} %{}",
      p.epoch, p.epochs, p.purpose == Purpose::train ? "" : "validating · ", p.batch, p.batches,
      p.loss, metric_.brief, p.metrics[0], p.images_per_second, duration_text(p.seconds_left),
      resident, budget_bytes_ == kUnlimited.count ? "" : " of " + to_string(Bytes{budget_bytes_}),
      p.data_wait_percent, p.trouble.empty() ? "" : " · " + p.trouble);
}

void ProgressPrinter::show(const RunEvent& event) {
  if (const auto* step = std::get_if<StepDone>(&event)) show_progress(step->progress);
  if (const auto* batch = std::get_if<BatchValidated>(&event)) show_progress(batch->progress);
  if (const auto* epoch = std::get_if<EpochDone>(&event)) show_epoch(*epoch);
  if (const auto* text = std::get_if<Message>(&event)) message(text->text);
}

void ProgressPrinter::show_progress(const Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? std::chrono::steady_clock::duration(kRedraw) : kPlainLine)) return;
  last_ = now;
  const std::scoped_lock lock(mutex_);
  if (terminal_)
    fmt::print("\r\x1b[K{}", line_of(progress));
  else
    fmt::print("{}\n", line_of(progress));
  line_open_ = terminal_;
  std::fflush(stdout);
}

void ProgressPrinter::clear_line() {
  if (line_open_) fmt::print("\r\x1b[K");
  line_open_ = false;
}

void ProgressPrinter::show_epoch(const EpochDone& epoch) {
  const auto& [train, validation] = epoch;
  const std::scoped_lock lock(mutex_);
  clear_line();
  std::string text = fmt::format("epoch {}/{} · loss {:.4f} · {} {:.4f}", train.epoch, train.epochs,
                                 train.loss, metric_.brief, train.metrics[0]);
  if (validation)
    text += fmt::format(" · val_loss {:.4f} · val_{} {:.4f}", validation->loss, validated_.brief,
                        validation->metrics[headline_]);
  fmt::print(quiet_ ? stderr : stdout, "{} · {:.1f} img/s · mem {}\n", text,
             train.images_per_second, to_string(memory_usage().resident));
  std::fflush(stdout);
}

void ProgressPrinter::message(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  clear_line();
  fmt::print(quiet_ ? stderr : stdout, "{}\n", text);
  std::fflush(stdout);
}

}  // namespace plimsoll::cli
