#include "cli/reading_bar.h"

#include <fmt/format.h>

#include <memory>

#include "cli/progress.h"

namespace plimsoll::cli {

job::OnScan reading_bar(const std::string& data, bool quiet) {
  struct State {
    std::unique_ptr<PhaseBar> bar;
    double seconds = 0;
  };
  const auto state = std::make_shared<State>();
  return [state, data, quiet](const ScanProgress& p) {
    if (!state->bar || p.seconds < state->seconds) {
      state->bar.reset();  // its line goes before the next one begins
      state->bar = std::make_unique<PhaseBar>("reading " + data, quiet);
    }
    state->seconds = p.seconds;
    state->bar->show(p.done, p.samples, p.seconds,
                     fmt::format("{}/{} · {} bad", p.done, p.samples, p.bad));
  };
}

void print_left_out(const Complaint& complaint) {
  fmt::print(stderr, "plimsoll: {}: {}; left out\n", complaint.where, complaint.got);
}

}  // namespace plimsoll::cli
