// Files of other programs at the command line: in, trained, and out again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/memory_group.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kLite0 = "efficientnet-lite0-57934424.pth";

// A network with branches, as a person would describe it to Keras.
constexpr const char* kDescription = R"({"class_name": "Functional", "config": {"name": "my_block",
"layers": [
{"class_name": "InputLayer", "name": "photo", "config": {"name": "photo", "batch_input_shape": [null, 20, 20, 3]}, "inbound_nodes": []},
{"class_name": "Conv2D", "name": "stem", "config": {"name": "stem", "filters": 8, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu", "use_bias": true}, "inbound_nodes": [[["photo", 0, 0, {}]]]},
{"class_name": "Conv2D", "name": "left", "config": {"name": "left", "filters": 4, "kernel_size": [1, 1], "strides": [1, 1], "padding": "same", "activation": "relu", "use_bias": true}, "inbound_nodes": [[["stem", 0, 0, {}]]]},
{"class_name": "Conv2D", "name": "right", "config": {"name": "right", "filters": 4, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same", "activation": "linear", "use_bias": false}, "inbound_nodes": [[["stem", 0, 0, {}]]]},
{"class_name": "BatchNormalization", "name": "right_norm", "config": {"name": "right_norm", "axis": [3], "momentum": 0.9, "epsilon": 0.001, "center": true, "scale": true}, "inbound_nodes": [[["right", 0, 0, {}]]]},
{"class_name": "Concatenate", "name": "join", "config": {"name": "join", "axis": -1}, "inbound_nodes": [[["left", 0, 0, {}], ["right_norm", 0, 0, {}]]]},
{"class_name": "GlobalAveragePooling2D", "name": "mean", "config": {"name": "mean"}, "inbound_nodes": [[["join", 0, 0, {}]]]},
{"class_name": "Dense", "name": "answer", "config": {"name": "answer", "units": 7, "activation": "softmax", "use_bias": true}, "inbound_nodes": [[["mean", 0, 0, {}]]]}],
"input_layers": [["photo", 0, 0]], "output_layers": [["answer", 0, 0]]}, "keras_version": "2.4.0", "backend": "tensorflow"})";

class OtherPrograms : public testing::Test {
 protected:
  OtherPrograms() { folder_.put("my_block.json", kDescription); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string data() const { return images_.folder().path().string(); }
  Outcome train(const std::string& out, const std::string& more) const {
    return run_program("train " + data() + " --batch 4 --epochs 2 --lr 0.01 --threads 1 --quiet " +
                       (kSanitized ? "" : "--memory 150MiB ") + "--out " + at(out) + " " + more);
  }
  // Scores of one picture, by class.
  std::map<std::string, double> scores(const std::string& weights,
                                       const std::string& more = "") const {
    const Outcome outcome =
        run_program("predict " + weights + " " + images_.file(0, 1).string() +
                    " --json --logits --top 9 --threads 1 " + more + " 2>/dev/null");
    std::map<std::string, double> found;
    const auto json = nlohmann::json::parse(outcome.output, nullptr, false);
    if (!json.is_array()) return found;
    for (const auto& guess : json[0]["classes"]) found[guess["name"]] = guess["logit"];
    return found;
  }

  const ImageFolder images_{2, 12};
  const TemporaryFolder folder_;
};

TEST_F(OtherPrograms, ADescribedNetworkIsTrainedInABudgetResumedAndKnownByItsWeightsAlone) {
  const Outcome first = train("run", "--model " + at("my_block.json"));
  ASSERT_EQ(first.code, 0) << first.output;
  std::filesystem::remove(folder_ / "my_block.json");
  const Outcome more =
      run_program("train --resume " + at("run") + " --epochs 3 --quiet --threads 1");
  EXPECT_EQ(more.code, 0) << more.output;
  const Outcome whole = run_program("eval " + at("run") + " " + data() + " --threads 1");
  EXPECT_EQ(whole.code, 0) << whole.output;
  EXPECT_EQ(scores(at("run/weights/last.safetensors")).size(), 2U) << "the data's classes";
}

TEST_F(OtherPrograms, WhatIsExportedIsReadBackWithTheSameAnswers) {
  ASSERT_EQ(train("run", "--model " + at("my_block.json")).code, 0);
  const std::map<std::string, double> ours = scores(at("run/weights/last.safetensors"));
  ASSERT_EQ(ours.size(), 2U);
  for (const std::string ending : {"keras", "h5", "weights.h5", "safetensors"}) {
    const Outcome outcome =
        run_program("export " + at("run/weights/last.safetensors") + " --to " + at("x." + ending));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const bool is_described = ending == "keras" || ending == "h5";
    const std::map<std::string, double> back = scores(
        at("x." + ending), is_described ? "" : "--model " + at("my_block.json") + " --classes 2");
    ASSERT_EQ(back.size(), 2U) << ending;
    EXPECT_FLOAT_EQ(back.at("0"), ours.at("c0")) << ending;
    EXPECT_FLOAT_EQ(back.at("1"), ours.at("c1")) << ending;
  }
  const Outcome onnx = run_program("export " + at("run") + " --to " + at("x.onnx") + " --json");
  EXPECT_EQ(onnx.code, 0) << onnx.output;
  EXPECT_THAT(onnx.output, HasSubstr("my_block"));
  const Outcome unknown = run_program("export " + at("run") + " --to " + at("x.pb"));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr(".onnx"));
}

TEST_F(OtherPrograms, AnotherNumberOfClassesReplacesTheHeadAndSaysSo) {
  ASSERT_EQ(train("run", "--model " + at("my_block.json")).code, 0);
  ASSERT_EQ(run_program("export " + at("run") + " --to " + at("x.keras")).code, 0);
  const ImageFolder three(3, 6);
  const std::string begin = "train " + three.folder().path().string() +
                            " --batch 3 --epochs 1 --threads 1 --weights " + at("x.keras");
  const Outcome outcome =
      run_program(begin + " --model " + at("x.keras") + " --out " + at("other"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("the head is new"));
  EXPECT_THAT(outcome.output, HasSubstr("answer/kernel [8, 3]"));
  const Outcome wrong = run_program(begin + " --model resnet20 --out " + at("wrong"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.output, HasSubstr("do not"));
  EXPECT_THAT(wrong.output, HasSubstr("stem/"));
}

TEST_F(OtherPrograms, LayersThatCannotBeAreListedAllAtOnce) {
  std::string text = kDescription;
  for (const auto& [old, now] :
       {std::pair<std::string, std::string>{"GlobalAveragePooling2D", "LSTM"},
        {"\"Concatenate\"", "\"Lambda\""}})
    text.replace(text.find(old), old.size(), now);
  folder_.put("odd.json", text);
  const Outcome outcome = run_program("plan --model " + at("odd.json"));
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  for (const char* word : {"LSTM", "Lambda", "'mean'", "'join'"})
    EXPECT_THAT(outcome.output, HasSubstr(word));
}

TEST_F(OtherPrograms, FrozenBodiesTakeLessAndThawAtASmallRate) {
  ASSERT_EQ(train("run", "--model " + at("my_block.json")).code, 0);
  const Outcome thawed = run_program(
      "train " + data() + " --model " + at("my_block.json") + " --weights " +
      at("run/weights/last.safetensors") +
      " --freeze body --unfreeze-after 1 --epochs 2 --batch 4 --threads 1 --out " + at("thawed"));
  ASSERT_EQ(thawed.code, 0) << thawed.output;
  EXPECT_THAT(thawed.output, HasSubstr("frozen: body"));
  EXPECT_THAT(thawed.output, HasSubstr("0.02 x the rate"));
  const auto optimizer_bytes = [&](const std::string& more) {
    const Outcome plan =
        run_program("plan --model xception_mini --batch 8 --threads 1 --json " + more);
    const auto ledger = nlohmann::json::parse(plan.output)["ledger"];
    for (const auto& line : ledger)
      if (line["line"] == "optimizer") return line["bytes"].get<std::int64_t>();
    return std::int64_t{-1};
  };
  EXPECT_LT(20 * optimizer_bytes("--freeze body"), optimizer_bytes(""));
  EXPECT_EQ(optimizer_bytes("--freeze body"), optimizer_bytes("--freeze '*,!predictions'"));
}

TEST_F(OtherPrograms, FilesAreToldByTheirContent) {
  folder_.put("page.h5", "<!DOCTYPE html><html>not found</html>");
  const Outcome page = run_program("import " + at("page.h5"));
  EXPECT_EQ(page.code, 1);
  EXPECT_THAT(page.output, HasSubstr("not known"));
  SHARED_DATA_OR_SKIP(keras, "keras");
  const std::string file = (keras / "vww_96.h5").string();
  const auto json = nlohmann::json::parse(run_program("import " + file + " --json").output);
  EXPECT_EQ(json["classes"], 2);
  EXPECT_EQ(json["image"], "96x96x3");
  EXPECT_EQ(json["tensors"], 164);
  EXPECT_TRUE(json["unmatched"].empty());
  EXPECT_EQ(run_program("import " + (keras / "inception_v3_topology.json").string()).code, 0);
  const Outcome custom = run_program("import " + (keras / "v3_3layer.keras").string());
  EXPECT_THAT(custom.output, HasSubstr("cannot be built"));
  EXPECT_THAT(custom.output, HasSubstr("its input has shape [?, 16]; expected images"));
  EXPECT_THAT(custom.output, Not(HasSubstr("--model")));
  const Outcome pair = run_program("import " + (keras / "dog_cat_weights.h5").string() +
                                   " --model " + (keras / "dog_cat_model.json").string());
  EXPECT_THAT(pair.output,
              HasSubstr("sequential, described by " + (keras / "dog_cat_model.json").string()));
}

// Weights of 96 MiB go through in a container that has not the room for two of them.
TEST_F(OtherPrograms, WeightsAreHeldOnceHoweverLarge) {
  folder_.put("wide.json", R"({"class_name": "Sequential", "config": {"name": "wide", "layers": [
{"class_name": "Flatten", "config": {"name": "f", "batch_input_shape": [null, 64, 64, 3]}},
{"class_name": "Dense", "config": {"name": "d", "units": 2048, "use_bias": false}}]}})");
  constexpr std::int64_t kElements = std::int64_t{64} * 64 * 3 * 2048;
  {
    SafetensorsWriter writer(
        folder_ / "wide.safetensors",
        {{.name = "d/kernel", .type = ElementType::f32, .shape = {64 * 64 * 3, 2048}}}, {});
    const std::vector<std::byte> piece(std::size_t{1} << 20);
    for (std::int64_t i = 0; i < kElements * 4; i += std::ssize(piece))
      writer.append("d/kernel", piece);
    writer.commit();
  }
  const MemoryGroup group(kElements * 4 + (std::int64_t{64} << 20));
  for (const std::string ending : {"keras", "h5", "safetensors", "onnx"}) {
    const Outcome outcome = run_program("export " + at("wide.safetensors") + " --model " +
                                            at("wide.json") + " --to " + at("out." + ending),
                                        group.enter());
    EXPECT_EQ(outcome.code, 0) << ending << ": " << outcome.output;
    std::filesystem::remove(folder_ / ("out." + ending));
  }
}

TEST_F(OtherPrograms, PublishedWeightsKnowADaisy) {
  SHARED_DATA_OR_SKIP(pretrained, "pretrained");
  SHARED_DATA_OR_SKIP(flowers, "flowers5");
  const Outcome outcome = run_program("predict " + (pretrained / kLite0).string() + " " +
                                      (flowers / "daisy").string() + " --csv --top 1");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  int daisies = 0;
  for (std::size_t from = 0; (from = outcome.output.find(",985,", from)) != std::string::npos;
       ++from)
    ++daisies;
  EXPECT_GE(daisies, 33) << "of 40";
}

TEST_F(OtherPrograms, WhatDoesNotMatchIsNamedOnceOnEachSide) {
  SHARED_DATA_OR_SKIP(pretrained, "pretrained");
  const Outcome outcome = run_program("import " + (pretrained / kLite0).string() +
                                      " --model efficientnet_lite0 --classes 5");
  EXPECT_THAT(outcome.output,
              HasSubstr("predictions/kernel [1280, 5]: _fc.weight F32 [1000, 1280]\n"));
}

}  // namespace
}  // namespace plimsoll
