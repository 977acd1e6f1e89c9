// Every command that reads pictures, on photographs of all kinds, in exactly its bytes.
#pragma once

#include <cstdio>

#include "tests/cli/fitted_run.h"
#include "tests/support/photographs.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

class PhotographRuns {
 public:
  explicit PhotographRuns(std::string words) : words_(std::move(words)) {}

  // At the plan of `share` of the way from the floor to the fastest.
  void train(std::int64_t steps, double share) {
    const auto bounds = json_in(run_program("plan --json --memory unlimited " + words_).output);
    const auto floor = bounds["floor_bytes"].get<std::int64_t>();
    const auto most = bounds["unlimited_bytes"].get<std::int64_t>();
    const auto budget =
        floor + static_cast<std::int64_t>(share * static_cast<double>(most - floor));
    const auto planned = json_in(
        run_program("plan --json --memory " + std::to_string(budget) + " " + words_).output);
    const auto bytes = planned["total_bytes"].get<std::int64_t>();
    std::filesystem::remove_all(folder_ / "run");
    run_fitted("train " + words_ + " --quiet --steps " + std::to_string(steps) + " --out " +
                   (folder_ / "run").string(),
               bytes);
    tell("train", nlohmann::json::parse(content(folder_ / "run/report.json")));
  }
  void find_lr() {
    const std::string command = "find-lr " + words_ +
                                " --grid 0.001 --steps 20 --json --quiet --out " +
                                (folder_ / "lr").string();
    const auto planned = json_in(run_program("plan --json --memory unlimited " + words_).output);
    tell("find-lr",
         json_in(run_fitted(command, planned["total_bytes"].get<std::int64_t>()).output));
  }
  void check() {
    const std::string command =
        "check " + words_ + " --json --quiet --out " + folder_.path().string();
    const auto wanted = json_in(run_program(command + " --memory unlimited").output);
    const auto bytes = wanted["plan"]["floor_bytes"].get<std::int64_t>();
    EXPECT_EQ(json_in(run_fitted(command, bytes).output)["plan"]["fits"], true);
  }
  void eval(const std::string& data) {
    const std::string command =
        "eval " + (folder_ / "run").string() + " " + data + " --json --quiet";
    const auto wanted = json_in(run_program(command + " --memory unlimited").output);
    tell("eval",
         json_in(run_fitted(command, wanted["predicted_bytes"].get<std::int64_t>()).output));
  }
  void predict(const std::string& data) {
    const std::string command = "predict " + (folder_ / "run").string() + " " + data;
    const std::string told = run_program(command + " --memory unlimited").output;
    const std::size_t at = told.rfind("memory: ");
    ASSERT_NE(at, std::string::npos) << told;
    // Told in hundredths of a MiB.
    const double mib = std::stod(told.substr(at + 8)) + 0.01;
    const Outcome outcome = run_fitted(command, static_cast<std::int64_t>(mib * (1 << 20)));
    const std::size_t line = outcome.output.rfind("memory: ");
    ASSERT_NE(line, std::string::npos);
    std::printf("predict  %s\n",
                outcome.output.substr(line, outcome.output.find('\n', line) - line).c_str());
  }

 private:
  static void tell(const char* what, const nlohmann::json& report) {
    const auto mib = [&](const char* key) { return report[key].get<double>() / (1 << 20); };
    std::printf("%-8s predicted %8.2f MiB, measured %8.2f, difference %6.2f\n", what,
                mib("predicted_bytes"), mib("measured_peak_bytes"),
                mib("predicted_bytes") - mib("measured_peak_bytes"));
    expect_exact(report, what);
  }

  std::string words_;
  TemporaryFolder folder_;
};

}  // namespace plimsoll
