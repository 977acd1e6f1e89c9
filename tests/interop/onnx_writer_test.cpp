// ONNX files: what is in them. That they compute the same is checked by tools/golden/check_onnx.py,
// for which these tests write files where PLIMSOLL_INTEROP_FILES says.
#include "interop/onnx_writer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"
#include "format/protobuf.h"
#include "interop/keras_network.h"
#include "ops/table.h"
#include "step/trainer.h"
#include "tensor/convert.h"
#include "tests/support/complaints.h"
#include "tests/support/golden.h"
#include "tests/support/interpreter.h"
#include "tests/support/temporary_folder.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

// What these tests ask of a file.
struct WrittenModel {
  std::map<std::string, int> ops;
  std::map<std::string, std::size_t> tensors;  // bytes of each
  std::vector<std::string> inputs, outputs;
  std::uint64_t opset = 0;
  bool is_ordered = true;  // nodes read what stands before them
};

std::vector<ProtoField> fields(std::span<const std::byte> message) {
  std::vector<ProtoField> all;
  ProtoReader reader(message);
  while (const auto field = reader.next()) all.push_back(*field);
  return all;
}

std::string first_text(std::span<const std::byte> message, std::uint32_t number) {
  for (const ProtoField& field : fields(message))
    if (field.number == number) return std::string(as_text(field.bytes));
  return "";
}

WrittenModel read_model(std::string_view file) {
  WrittenModel model;
  std::map<std::string, bool> known{{"", true}};
  std::vector<std::span<const std::byte>> nodes;
  for (const ProtoField& field : fields(std::as_bytes(std::span(file)))) {
    if (field.number == 8) model.opset = fields(field.bytes).back().value;
    if (field.number != 7) continue;
    for (const ProtoField& part : fields(field.bytes)) {
      if (part.number == 1) nodes.push_back(part.bytes);
      if (part.number == 5) {
        std::size_t bytes = 0;
        for (const ProtoField& of : fields(part.bytes))
          if (of.number == 9) bytes = of.bytes.size();
        known[first_text(part.bytes, 8)] = true;
        model.tensors[first_text(part.bytes, 8)] = bytes;
      }
      if (part.number == 11) model.inputs.push_back(first_text(part.bytes, 1));
      if (part.number == 12) model.outputs.push_back(first_text(part.bytes, 1));
    }
  }
  for (const std::string& input : model.inputs) known[input] = true;
  for (const auto& node : nodes) {
    for (const ProtoField& of : fields(node)) {
      if (of.number == 1 && !known[std::string(as_text(of.bytes))]) model.is_ordered = false;
      if (of.number == 2) known[std::string(as_text(of.bytes))] = true;
      if (of.number == 4) ++model.ops[std::string(as_text(of.bytes))];
    }
  }
  return model;
}

// A network with weights by the golden rule, ready to be written.
class Written {
 public:
  Written(const zoo::Network& network, nlohmann::json golden)
      : network_(network), golden_(std::move(golden)) {
    const std::vector<std::int64_t> image = golden_["image"];
    input_ = {.batch = golden_["batch"], .channels = image[0], .image = {image[1], image[2]}};
    trainer_.emplace(
        op_table(), [this](nn::Builder& net) { return build(net); },
        TrainerOptions{.input = input_,
                       .train_batches = {input_.batch},
                       .evaluate_batches = {input_.batch},
                       .optimizer = {.name = "sgd", .momentum = 0}});
    trainer_->open();
    tests::fill_by_rule(*trainer_, golden_);
    if (!golden_.contains("eval_logits")) unsettle_statistics();
  }

  void write(const std::filesystem::path& path, const interop::OnnxOptions& options) const {
    nn::Builder net(op_table(), input_, nn::Mode::inference);
    const nn::Heads heads = build(net);
    write_onnx(path, net.graph(), heads,
               weight_tensors(trainer_->session(), trainer_->step_graph()), options);
  }

  // Ours, row by row.
  std::vector<float> logits() {
    tests::fill_batch_by_rule(*trainer_, golden_, Purpose::evaluate);
    trainer_->evaluate_step(input_.batch);
    const TensorView view = trainer_->logits(Purpose::evaluate, input_.batch);
    std::vector<float> all;
    for (std::int64_t n = 0; n < view.spec.shape[0]; ++n)
      for (std::int64_t c = 0; c < view.spec.shape[1]; ++c) all.push_back(view.at<float>(n, c));
    return all;
  }

 private:
  // The rule's running statistics, 0 and 1, would hide what is done with them.
  void unsettle_statistics() {
    for (const NamedTensor& tensor : weight_tensors(trainer_->session(), trainer_->step_graph())) {
      const bool mean = tensor.name.ends_with("/moving_mean");
      if (!mean && !tensor.name.ends_with("/moving_variance")) continue;
      std::vector<float> values(static_cast<std::size_t>(tensor.view.spec.shape.elements()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double r = signed_unit(fnv1a64(tensor.name), i);
        values[i] = static_cast<float>(mean ? 0.2 * r : 1 + 0.4 * r);
      }
      write_elements(tensor.view, 0, values);
    }
  }

  nn::Heads build(nn::Builder& net) const {
    return network_.build(net, {.classes = golden_["classes"], .dropout = 0});
  }

  const zoo::Network& network_;
  nlohmann::json golden_;
  nn::Input input_;
  std::optional<Trainer> trainer_;
};

// The rule's, with running statistics that are not 0 and 1.
std::vector<double> rule_values(const std::string& name, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double r = signed_unit(fnv1a64(name), i);
    values[i] = name.ends_with("/moving_mean") ? 0.2 * r
                : name.ends_with("/moving_variance")
                    ? 2 + r
                    : double{tests::rule_value(name, shape, 0.5, r)};
  }
  return values;
}

// A detector for 7 classes, by reference kernels.
class WrittenDetector {
 public:
  explicit WrittenDetector(const zoo::Network& network)
      : net_(op_table(), kInput, nn::Mode::inference),
        heads_(network.build(net_, {.classes = 7})),
        run_(net_.graph()) {
    for (const Value& value : net_.graph().values()) {
      const ValueId id = net_.graph().find(value.name);
      if (!is_resident(value.role)) continue;
      run_.put(id, rule_values(value.name, value.spec.shape));
      weights_.push_back({value.name, run_.view(id)});
    }
  }

  void write(const std::filesystem::path& path, const interop::OnnxOptions& options) const {
    write_onnx(path, net_.graph(), heads_, weights_, options);
  }

  // Outputs by their names in the file.
  nlohmann::json outputs() {
    const ValueId image = net_.image();
    std::vector<double> pixels(static_cast<std::size_t>(net_.spec(image).shape.elements()));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = signed_unit(fnv1a64("image"), i);
    run_.put(image, pixels);
    run_.run();
    nlohmann::json outputs;
    for (std::size_t l = 0; l < heads_.levels.size(); ++l) {
      outputs["scores_" + std::to_string(l)] = run_.elements(heads_.levels[l].scores);
      outputs["deltas_" + std::to_string(l)] = run_.elements(heads_.levels[l].deltas);
    }
    return outputs;
  }

  static constexpr std::int64_t kSides[] = {64, 96};

 private:
  inline static const nn::Input kInput{.batch = 2, .image = {kSides[0], kSides[1]}};
  nn::Builder net_;
  nn::Heads heads_;
  Interpreter run_;
  std::vector<NamedTensor> weights_;
};

class OnnxWriter : public testing::Test {
 protected:
  WrittenModel written(const interop::OnnxOptions& options) {
    nlohmann::json golden = tests::load_golden("keras_networks")[0];
    golden["batch"] = 1;
    golden["classes"] = 5;
    const zoo::Network network = interop::make_network(golden["description"].dump(), "mine");
    const std::filesystem::path path = folder_.path() / "mine.onnx";
    Written(network, golden).write(path, options);
    return read_model(read_file(path, Bytes{1 << 24}));
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxWriter, WritesEveryNodeBehindWhatItReads) {
  const WrittenModel model = written({});
  EXPECT_EQ(model.opset, 17U);
  EXPECT_TRUE(model.is_ordered);
  EXPECT_EQ(model.inputs, std::vector<std::string>{"image"});
  EXPECT_EQ(model.outputs, std::vector<std::string>{"logits"});
  EXPECT_EQ(model.ops.at("Conv"), 7) << "a separable convolution is two";
  EXPECT_EQ(model.ops.at("BatchNormalization"), 2);
  EXPECT_EQ(model.ops.at("Transpose"), 1) << "Keras flattens with channels fastest";
  EXPECT_EQ(model.tensors.at("stem/kernel"), 8U * 3 * 3 * 3 * sizeof(float));
}

TEST_F(OnnxWriter, FoldsBatchNormsBehindConvolutions) {
  const WrittenModel model = written({.fold_batch_norm = true});
  EXPECT_EQ(model.ops.at("BatchNormalization"), 1) << "that of a dense layer stays";
  EXPECT_TRUE(model.tensors.contains("left_1x1/folded_bias"));
  EXPECT_FALSE(model.tensors.contains("left_bn/moving_mean"));
}

TEST_F(OnnxWriter, AddsProbabilitiesWhenAsked) {
  const WrittenModel model = written({.ending = "softmax"});
  EXPECT_EQ(model.outputs, (std::vector<std::string>{"logits", "probabilities"}));
  EXPECT_EQ(model.ops.at("Softmax"), 1);
}

TEST_F(OnnxWriter, EndsADetectorInScoresAndDeltasOfEveryLevel) {
  const WrittenDetector detector(zoo::find_network("retinanet_mini"));
  const std::filesystem::path path = folder_.path() / "mini.onnx";
  detector.write(path, {.ending = "softmax", .fold_batch_norm = true});
  const WrittenModel model = read_model(read_file(path, Bytes{1 << 24}));
  EXPECT_TRUE(model.is_ordered);
  EXPECT_EQ(model.outputs, (std::vector<std::string>{"scores_0", "deltas_0", "scores_1", "deltas_1",
                                                     "scores_2", "deltas_2"}));
  EXPECT_EQ(model.ops.at("Conv"), 21 + 6 + 3 * 6) << "body, pyramid, heads on three levels";
  EXPECT_FALSE(model.ops.contains("Softmax"));
  EXPECT_FALSE(model.ops.contains("BatchNormalization"));
  EXPECT_EQ(model.tensors.at("head.classification_head.cls_logits/kernel"),
            9U * 7 * 64 * 9 * sizeof(float));
}

TEST(OnnxFiles, AreWrittenForTheCheck) {
  const char* folder = std::getenv("PLIMSOLL_INTEROP_FILES");
  if (folder == nullptr) GTEST_SKIP() << "PLIMSOLL_INTEROP_FILES names no folder";
  const auto write = [&](const zoo::Network& network, const nlohmann::json& golden,
                         const std::string& name) {
    Written written(network, golden);
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    written.write(path.string() + ".onnx", {.name = name, .ending = "softmax"});
    written.write(path.string() + ".folded.onnx", {.name = name, .fold_batch_norm = true});
    std::ofstream(path.string() + ".logits.json") << nlohmann::json{
        {"image", golden["image"]}, {"batch", golden["batch"]}, {"logits", written.logits()}};
  };
  for (const zoo::Network& network : zoo::networks()) {
    if (network.anchor_base > 0) {
      WrittenDetector detector(network);
      const std::filesystem::path path = std::filesystem::path(folder) / network.name;
      detector.write(path.string() + ".onnx", {.name = network.name});
      detector.write(path.string() + ".folded.onnx",
                     {.name = network.name, .fold_batch_norm = true});
      std::ofstream(path.string() + ".logits.json")
          << nlohmann::json{{"image", {3, WrittenDetector::kSides[0], WrittenDetector::kSides[1]}},
                            {"batch", 2},
                            {"outputs", detector.outputs()}};
      continue;
    }
    write(network, tests::load_golden(network.name), network.name);
  }
  for (nlohmann::json golden : tests::load_golden("keras_networks")) {
    if (golden["dialect"] != "keras3") continue;
    golden["batch"] = 2;
    golden["classes"] = golden["logits"].size();
    const std::string name = golden["name"];
    write(interop::make_network(golden["description"].dump(), name), golden, name);
  }
}

}  // namespace
}  // namespace plimsoll
