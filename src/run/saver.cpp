#include "run/saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kKept = "step-";

}  // namespace

SaveOptions parse_save_every(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double scale = unit == "s" ? 1 : unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  const bool steps =
      unit.empty() && number == static_cast<double>(static_cast<std::int64_t>(number));
  if (error != std::errc() || !(number > 0 && number < 1e9) || (!steps && scale == 0))
    throw UsageError({.where = "--save-every",
                      .got = "'" + text + "'",
                      .expected = "expected steps (100) or a time (30s, 5min, 2h)"});
  SaveOptions options;
  if (steps)
    options.every_steps = static_cast<std::int64_t>(number);
  else
    options.every_seconds = number * scale;
  return options;
}

Saver::Saver(const std::filesystem::path& out, const SaveOptions& options, std::int64_t saved,
             Tell tell)
    : folder_(out / "weights"), options_(options), tell_(std::move(tell)), saved_step_(saved) {}

std::filesystem::path Saver::last() const { return folder_ / "last.safetensors"; }

bool Saver::is_due(std::int64_t step) const {
  if (options_.every_steps > 0) return step % options_.every_steps == 0;
  return since_.seconds() >= options_.every_seconds;
}

template <class Write>
bool Saver::attempt(std::int64_t step, Write write) {
  try {
    write();
  } catch (const DataError& error) {
    const bool news = trouble_.empty();
    trouble_ = fmt::format("not saved since step {}: {}", std::max<std::int64_t>(0, saved_step_),
                           error.complaint().got);
    if (news)
      tell_(fmt::format(
          "step {}: the checkpoint could not be written: {}; the one of step {} stands, "
          "the run goes on and tries again",
          step, error.what(), std::max<std::int64_t>(0, saved_step_)));
    return false;
  }
  if (!trouble_.empty()) tell_(fmt::format("step {}: saving works again", step));
  trouble_.clear();
  return true;
}

bool Saver::save(const Trainer& trainer, const RunIdentity& identity, const RunState& state) {
  since_ = Stopwatch();
  return attempt(state.step, [&] {
    save_checkpoint(last(), trainer, identity, state);
    saved_step_ = state.step;
    if (options_.keep > 1) keep_older(state.step);
  });
}

bool Saver::save_best(const Trainer& trainer, const RunIdentity& identity, const RunState& state) {
  return attempt(state.step,
                 [&] { save_weights(folder_ / "best.safetensors", trainer, identity, state); });
}

// A second name for the file that is the last one now; the oldest of such names go.
void Saver::keep_older(std::int64_t step) {
  std::error_code error;
  const std::filesystem::path name = folder_ / fmt::format("{}{:09}.safetensors", kKept, step);
  std::filesystem::remove(name, error);
  std::filesystem::create_hard_link(last(), name, error);
  if (error) std::filesystem::copy_file(last(), name, error);  // no links on this file system
  if (error) throw_file_error(name, "cannot keep the checkpoint", error.value());
  std::vector<std::filesystem::path> kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(kKept) && file.ends_with(".safetensors")) kept.push_back(entry.path());
  }
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 0; i + static_cast<std::size_t>(options_.keep) < kept.size(); ++i)
    std::filesystem::remove(kept[i], error);
}

}  // namespace plimsoll
