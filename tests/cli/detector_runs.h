// Runs of one detector over a small folder with boxes, and what must hold of any.
#pragma once

#include <random>

#include "tests/cli/fitted_run.h"
#include "tests/cli/run_support.h"
#include "tests/support/box_folder.h"

namespace plimsoll {

// results.csv without times and memory.
inline std::string lasting_numbers(const std::filesystem::path& run) {
  const std::set<std::string> passing{"time", "images_per_second", "data_wait_percent",
                                      "memory_bytes"};
  std::istringstream lines(content(run / "results.csv"));
  std::vector<std::string> names;
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (names.empty()) names = row;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!passing.contains(names[i])) text += row[i] + ",";
    text += "\n";
  }
  return text;
}

class DetectorRuns : public testing::Test {
 protected:
  explicit DetectorRuns(std::string model) : model_(std::move(model)) {}

  std::filesystem::path out(const std::string& name) const { return folder_.path() / name; }
  // 18 pictures are trained on, 6 validated on.
  std::string network() const {
    return data_.path().string() + " --model " + model_ +
           " --image 64x96 --batch 4 --threads 1 --seed 3";
  }
  std::string words(const std::string& name, const std::string& more) const {
    return "train " + network() + " --quiet --out " + out(name).string() + " " + more;
  }
  Outcome train(const std::string& name, const std::string& more,
                const std::string& before = "") const {
    return run_program(words(name, more), before);
  }
  nlohmann::json report(const std::string& name) const {
    return nlohmann::json::parse(content(out(name) / "report.json"));
  }

  // In cgroups of the floor and of a quarter more, and not a byte below the floor.
  void expect_same_at_every_budget() const {
    const auto plan = json_in(run_program("plan " + network() + " --json").output);
    const std::int64_t floor = plan["floor_bytes"];
    ASSERT_EQ(train("unlimited", "--epochs 2 --memory unlimited").code, 0);
    EXPECT_EQ(report("unlimited")["predicted_bytes"], plan["unlimited_bytes"]);
    for (const double times : {1.0, 1.25}) {
      const auto bytes = static_cast<std::int64_t>(static_cast<double>(floor) * times);
      const std::string name = "at" + std::to_string(bytes);
      run_fitted(words(name, "--epochs 2"), bytes);
      expect_exact(report(name), name);
      EXPECT_TRUE(last_weights(out(name)) == last_weights(out("unlimited"))) << name;
      EXPECT_EQ(lasting_numbers(out(name)), lasting_numbers(out("unlimited"))) << name;
    }
    const Outcome refused = train("less", "--epochs 2 --memory " + std::to_string(floor - 1));
    EXPECT_EQ(refused.code, 3) << refused.output;
  }

  // At random moments: training, evaluating, saving.
  void expect_kills_change_nothing(int wanted) const {
    const std::string settings = "--epochs 6 --save-every 3";
    ASSERT_EQ(train("whole", settings).code, 0);
    const double seconds = report("whole")["seconds"];
    std::mt19937 random(5);
    int kills = 0;
    for (int run = 0; kills < wanted; ++run) {
      const std::string name = "run" + std::to_string(run);
      for (int code = -1; code != 0; kills += code == 0 ? 0 : 1) {
        const double share = 0.001 * static_cast<double>(random() % 1000);
        code =
            train(name, settings, "timeout -s KILL " + std::to_string(0.3 + share * seconds) + " ")
                .code;
        expect_sound_checkpoint(out(name));
      }
      EXPECT_TRUE(last_weights(out(name)) == last_weights(out("whole"))) << name;
      EXPECT_EQ(lasting_numbers(out(name)), lasting_numbers(out("whole"))) << name;
    }
  }

  // A crowded picture among others: more bytes for its boxes, and no others.
  void expect_a_crowd_to_fit() const {
    const auto crowd = [](int boxes) {
      std::string objects;
      for (int b = 0; b < boxes; ++b) {
        const int x = 1 + b * 7 % 70, y = 1 + b * 3 % 40, side = 8 + b % 16;
        objects += BoxFolder::object(b % 2 == 0 ? "light" : "dark", x, y, x + side, y + side);
      }
      return objects;
    };
    constexpr std::int64_t kFew = 30, kMany = 10'000, kBatch = 4;
    const auto plan = [&](std::int64_t boxes) {
      data_.annotate(1, crowd(static_cast<int>(boxes)));
      return json_in(run_program("plan " + network() + " --json").output);
    };
    const auto few = plan(kFew), many = plan(kMany);
    // Corners and a label each, and the best overlap of each while anchors are matched.
    const std::int64_t arena =
        many["arena_bytes"].get<std::int64_t>() - few["arena_bytes"].get<std::int64_t>();
    EXPECT_GE(arena, 0);
    EXPECT_LE(arena, kBatch * (kMany - kFew) * 24 + 4096);
    EXPECT_LE(many["floor_bytes"].get<std::int64_t>() - few["floor_bytes"].get<std::int64_t>(),
              kMany * 600);
    run_fitted(words("crowd", "--epochs 1"), many["floor_bytes"]);
    expect_exact(report("crowd"), "crowd");
    EXPECT_GT(report("crowd")["loss"], 0) << report("crowd").dump();
  }

  const std::string model_;
  const BoxFolder data_{24};
  const TemporaryFolder folder_;
};

}  // namespace plimsoll
