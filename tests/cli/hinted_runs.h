// Requests that do not fit, drawn at random, and every hint of their refusal taken at its word.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/file_system.h"
#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

inline nlohmann::json planned(const std::string& words, int code) {
  const Outcome outcome = run_program("plan --json " + words);
  EXPECT_EQ(outcome.code, code) << words << "\n" << outcome.output;
  const std::size_t begin = outcome.output.find('{');
  return begin == std::string::npos ? nlohmann::json::object()
                                    : nlohmann::json::parse(outcome.output.substr(begin));
}

// One refusal of `network`; returns how many hints there were to take.
inline int expect_hints_are_kept(std::mt19937& chance, const std::string& network) {
  const auto pick = [&](const std::vector<std::string>& words) {
    return words[chance() % words.size()];
  };
  const TemporaryFolder folder;
  const ImageFolder images(2, 20);  // small ones: with photographs, reading them takes the most
  const std::string words = images.folder().path().string() + " --model " + network + " --image " +
                            pick({"32", "48", "64"}) + " --batch " + pick({"7", "16", "24", "33"}) +
                            " --threads " + pick({"1", "2"}) + " --optimizer " +
                            pick({"sgd", "adam"}) +
                            pick({"", "", " --stash f16", " --accumulate 2", " --ema 0.99"});
  const auto floor = planned(words + " --memory unlimited", 0)["floor_bytes"].get<std::int64_t>();
  const auto budget = floor - floor * static_cast<std::int64_t>(1 + chance() % 25) / 100;
  const std::string limited = words + " --memory " + std::to_string(budget) + " ";
  const nlohmann::json refused = planned(limited, 3);
  int taken = 0;
  for (const nlohmann::json& lever : refused["levers"]) {
    std::string option = lever["option"];
    if (option == "--spill DIR") {
      if (!memory_file_system(folder.path()).empty()) continue;  // refused, and rightly
      option = "--spill " + folder.path().string();
    }
    const bool fits = lever["fits"];
    ++taken;
    EXPECT_EQ(planned(limited + option, fits ? 0 : 3)["floor_bytes"], lever["floor_bytes"])
        << limited << option;
  }
  EXPECT_EQ(planned(words + " --memory " + std::to_string(floor), 0)["fits"], true);
  return taken;
}

}  // namespace plimsoll
