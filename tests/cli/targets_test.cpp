// What is not one class per picture, from a list to a prediction.
#include <gmock/gmock.h>

#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class TargetRuns : public SmallRuns {
 protected:
  // Pictures are dark or bright; `row` says what stands behind the path of each.
  std::filesystem::path list(const std::function<std::string(int)>& row) {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      const std::string name = "p" + std::to_string(i) + ".bmp";
      std::string image = bmp_image(16, 16, 1);
      std::fill(image.begin() + 54, image.end(), static_cast<char>(i * 10));
      lists_.put(name, image);
      text += name + "," + row(i) + "\n";
    }
    lists_.put("list.csv", text);
    return lists_ / "list.csv";
  }
  Outcome train_on(const std::filesystem::path& data, const std::string& more) {
    return run_program("train " + data.string() +
                       " --model inception_mini --image 28 --batch 8 --val-split 0.25 " +
                       "--quiet --out " + out("run").string() + " " + more);
  }

  const TemporaryFolder lists_;
};

TEST_F(TargetRuns, SeveralLabelsAreTrainedEvaluatedAndPredicted) {
  const auto data = list(
      [](int i) { return std::string(i < 12 ? "dark" : "bright") + (i % 2 == 0 ? ",even" : ""); });
  const Outcome outcome =
      train_on(data, "--epochs 30 --read-as labels --optimizer adam --lr 0.003");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "results.csv"),
              HasSubstr("loss,binary_accuracy,val_loss,val_binary_accuracy,lr"));
  const auto found = nlohmann::json::parse(
      run_program("eval " + out("run").string() + " " + data.string() + " --json").output);
  EXPECT_GT(found["binary_accuracy"], 0.6) << found.dump();
  EXPECT_EQ(found["per_class"].size(), 3U);
  const auto told = nlohmann::json::parse(
      run_program("predict " + out("run").string() + " " + (lists_ / "p0.bmp").string() + " --json")
          .output);
  EXPECT_EQ(told[0]["classes"].size(), 3U);
}

TEST_F(TargetRuns, NumbersAreTrainedEvaluatedAndPredicted) {
  const auto data = list([](int i) { return std::to_string(i / 24.0); });
  const Outcome outcome = train_on(
      data, "--epochs 60 --loss mse --monitor val_mae --optimizer adam --lr 0.001 --watch off");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "results.csv"), HasSubstr("loss,mae,val_loss,val_mae,lr"));
  const auto found = nlohmann::json::parse(
      run_program("eval " + out("run").string() + " " + data.string() + " --json").output);
  EXPECT_LT(found["mae"], 0.25) << "better than guessing the middle";
  const auto told = nlohmann::json::parse(run_program("predict " + out("run").string() + " " +
                                                      (lists_ / "p23.bmp").string() + " --json")
                                              .output);
  EXPECT_TRUE(told[0]["classes"][0].contains("value")) << told.dump();
}

TEST_F(TargetRuns, KilledRunsGoOnToTheSameBits) {
  const auto data = list([](int i) { return std::to_string(i / 24.0); });
  const std::string words = "--epochs 4 --optimizer adam --lr 0.001 --save-every 2 --val-split 0 ";
  ASSERT_EQ(train_on(data, words).code, 0);
  const auto whole = last_weights(out("run"));
  std::filesystem::remove_all(out("run"));
  ASSERT_EQ(train_on(data, words + "--steps 5").code, 0);
  ASSERT_EQ(run_program("train --resume " + out("run").string() + " --steps 0 --quiet").code, 0);
  EXPECT_TRUE(last_weights(out("run")) == whole);
}

TEST_F(TargetRuns, ALossThatDoesNotSuitTheDataIsRefused) {
  const auto data = list([](int i) { return std::to_string(i / 24.0); });
  const Outcome outcome = train_on(data, "--loss binary_crossentropy");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("expected mse for data with numbers"));
}

}  // namespace
}  // namespace plimsoll
