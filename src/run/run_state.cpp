#include "run/run_state.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.h"

namespace plimsoll {
namespace {

// Calls visit(name, member) for every part of the state; the one list of them.
template <class State, class Visit>
void over_parts(State& state, Visit visit) {
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("position", state.position);
  visit("samples", state.samples);
  visit("optimizer_steps", state.optimizer_steps);
  visit("counted", state.counted);
  visit("loss_sum", state.loss_sum);
  visit("best", state.best);
  visit("best_epoch", state.best_epoch);
  visit("stale_epochs", state.stale_epochs);
  visit("lr_scale", state.lr_scale);
  visit("plateau_best", state.plateau_best);
  visit("plateau_epochs", state.plateau_epochs);
  visit("rollbacks", state.rollbacks);
  visit("first_loss", state.first_loss);
  visit("smooth_loss", state.smooth_loss);
  visit("best_loss", state.best_loss);
  visit("best_loss_step", state.best_loss_step);
  visit("high_steps", state.high_steps);
}

std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return fmt::format("{:a}", value); }
// Most sums count things.
std::string text_of_sum(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? text_of(whole) : text_of(value);
}
std::string text_of(const std::optional<double>& value) { return value ? text_of(*value) : "none"; }

bool parse(const std::string& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}
bool parse(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}
bool parse(const std::string& text, std::optional<double>& value) {
  value.reset();
  return text == "none" || parse(text, value.emplace());
}

}  // namespace

void put(const RunState& state, Metadata& metadata) {
  over_parts(state, [&](const char* name, const auto& part) { metadata[name] = text_of(part); });
  for (const auto& [name, sum] : state.metric_sums) metadata[name] = text_of_sum(sum);
}

RunState read_state(const Metadata& metadata, const std::string& where) {
  RunState state;
  std::set<std::string> known{"format"};
  const auto refuse = [&](const std::string& name, const std::string& got) {
    throw DataError({.where = where + ": entry '" + name + "'",
                     .got = got,
                     .expected = "expected a number",
                     .hint = "it is no checkpoint of `plimsoll train`, or an older one"});
  };
  over_parts(state, [&](const char* name, auto& part) {
    known.insert(name);
    const auto found = metadata.find(name);
    if (found == metadata.end()) refuse(name, "there is none");
    if (!parse(found->second, part)) refuse(name, "'" + found->second + "'");
  });
  for (const auto& [name, text] : metadata) {
    if (known.contains(name) || name.find('.') != std::string::npos) continue;
    if (!parse(text, state.metric_sums[name])) refuse(name, "'" + text + "'");
  }
  return state;
}

}  // namespace plimsoll
