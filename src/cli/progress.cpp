#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory_usage.h"

namespace plimsoll::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{200};
constexpr std::chrono::seconds kPlainLine{10};

std::string line_of(const Progress& p) {
  const char* phase = p.phase == Phase::train ? "" : "validating · ";
  return fmt::format(
      "epoch {}/{} · {}{}/{} · loss {:.4f} · acc {:.4f} · {:.1f} img/s · eta {} · mem {} · data "
      "wait {:.1f} %",
      p.epoch, p.epochs, phase, p.batch, p.batches, p.loss, p.accuracy, p.images_per_second,
      duration_text(p.seconds_left), to_string(memory_usage().resident), p.data_wait_percent);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

ProgressPrinter::ProgressPrinter(bool quiet)
    : quiet_(quiet),
      terminal_(isatty(STDOUT_FILENO) == 1),
      last_(std::chrono::steady_clock::now()) {}

void ProgressPrinter::on_progress(const Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < (terminal_ ? std::chrono::steady_clock::duration(kRedraw) : kPlainLine)) return;
  last_ = now;
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

void ProgressPrinter::on_epoch_end(const Progress& train,
                                   const std::optional<Progress>& validation) {
  clear_line();
  std::string text = fmt::format("epoch {}/{} · loss {:.4f} · acc {:.4f}", train.epoch,
                                 train.epochs, train.loss, train.accuracy);
  if (validation)
    text +=
        fmt::format(" · val_loss {:.4f} · val_acc {:.4f}", validation->loss, validation->accuracy);
  fmt::print("{} · {:.1f} img/s · mem {}\n", text, train.images_per_second,
             to_string(memory_usage().resident));
  std::fflush(stdout);
}

void ProgressPrinter::on_saved(const std::filesystem::path& checkpoint) {
  clear_line();
  fmt::print("saved {}\n", checkpoint.string());
}

}  // namespace plimsoll::cli
