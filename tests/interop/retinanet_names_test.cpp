// torchvision's RetinaNets: every weight finds its own, whatever version wrote the file; what is
// not as ours is changed on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "interop/changed_tensors.h"
#include "interop/match.h"
#include "interop/readers.h"
#include "interop/torch_writer.h"
#include "ops/table.h"
#include "tests/support/interpreter.h"
#include "tests/support/listed_tensors.h"
#include "tests/support/temporary_folder.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

using interop::ImportedFile;

std::vector<nn::Layer> layers_of(const std::string& network, std::int64_t classes) {
  nn::Builder net(op_table(), {.image = 128}, nn::Mode::inference);
  return nn::layers_of(net, zoo::find_network(network).build(net, {.classes = classes}));
}

// The weights of a network of ours as PyTorch stores them, a detector's with `classes` columns.
std::vector<StoredTensor> torch_tensors(const std::string& network, std::int64_t classes) {
  const std::map<std::string, std::string> words = {{"kernel", "weight"},
                                                    {"gamma", "weight"},
                                                    {"bias", "bias"},
                                                    {"beta", "bias"},
                                                    {"moving_mean", "running_mean"},
                                                    {"moving_variance", "running_var"}};
  std::vector<StoredTensor> tensors;
  for (const nn::Layer& layer : layers_of(network, classes))
    for (const nn::Parameter& parameter : layer.parameters) {
      std::vector<std::int64_t> shape(parameter.spec.shape.begin(), parameter.spec.shape.end());
      if (shape.size() == 2) std::swap(shape[0], shape[1]);
      const std::string word = parameter.name.substr(parameter.name.rfind('/') + 1);
      tensors.push_back({.name = layer.name + "." + words.at(word), .shape = shape});
    }
  return tensors;
}

ImportedFile named(std::vector<StoredTensor> tensors) {
  ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(std::move(tensors))};
  interop::name_torch_layers(file);
  return file;
}

void expect_all_matched(const ImportedFile& file, std::int64_t classes) {
  const interop::Matching matching = interop::match(file, layers_of(file.network, classes));
  for (const interop::Mismatch& mismatch : matching.mismatches)
    ADD_FAILURE() << mismatch.ours << " | " << mismatch.theirs;
  EXPECT_EQ(matching.head_width, classes);
}

// As torchvision named them before 0.14.
std::string old_name(std::string name) {
  for (const std::string tower : {"head.classification_head.conv.", "head.regression_head.conv."})
    if (name.starts_with(tower)) {
      const int number = name[tower.size()] - '0';
      return tower + std::to_string(2 * number) + name.substr(tower.size() + 3);
    }
  for (const std::string level : {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."})
    if (name.starts_with(level)) return name.erase(level.size() + 1, 2);
  return name;
}

TEST(RetinanetNames, OfEveryVersionAreFound) {
  for (const bool old : {false, true}) {
    std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", 91);
    if (old)
      for (StoredTensor& tensor : tensors) tensor.name = old_name(tensor.name);
    const ImportedFile file = named(tensors);
    EXPECT_EQ(file.network, "retinanet_r50");
    EXPECT_EQ(file.preprocessing, "torch");
    EXPECT_TRUE(file.others.empty());
    expect_all_matched(file, 90);
  }
}

TEST(RetinanetNames, OfOurSmallOnesAreFound) {
  for (const std::string network : {"retinanet_mini", "retinanet_lite0"}) {
    const ImportedFile file = named(torch_tensors(network, 4));
    EXPECT_EQ(file.network, network);
    EXPECT_EQ(file.preprocessing, "tf");
    expect_all_matched(file, 3);
  }
}

TEST(RetinanetNames, OfAnotherNumberOfClassesMakeTheClassOutputAnew) {
  const ImportedFile file = named(torch_tensors("retinanet_r50", 91));
  const interop::Matching matching = interop::match(file, layers_of("retinanet_r50", 3));
  EXPECT_TRUE(matching.replaces_head);
  EXPECT_EQ(matching.head_width, 90);
  ASSERT_EQ(matching.mismatches.size(), 2U);
  EXPECT_EQ(matching.mismatches[0].ours,
            "head.classification_head.cls_logits/kernel [27, 256, 3, 3]");
  EXPECT_EQ(matching.mismatches[0].theirs,
            "head.classification_head.cls_logits.weight F32 [810, 256, 3, 3]");
}

TEST(RetinanetNames, OfHeadsWithGroupNormAreToldOf) {
  std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", 91);
  tensors.push_back({.name = "head.classification_head.conv.0.1.weight", .shape = {256}});
  const ImportedFile file = named(tensors);
  EXPECT_EQ(file.network, "");
  ASSERT_EQ(file.notes.size(), 1U);
  EXPECT_NE(file.notes[0].find("GroupNorm"), std::string::npos);
}

TEST(RetinanetNames, AClassifiersWeightsAreABodys) {
  struct Pair {
    const char *classifier, *detector;
    std::size_t body;  // weights
  };
  for (const Pair& pair : {Pair{"resnet50_torch", "retinanet_r50", 265},
                           Pair{"efficientnet_lite0", "retinanet_lite0", 240}}) {
    const ImportedFile file = named(torch_tensors(pair.classifier, 1000));
    const interop::Matching matching = interop::match(file, layers_of(pair.detector, 3));
    EXPECT_TRUE(matching.replaces_head) << pair.detector;
    EXPECT_EQ(matching.matches.size(), pair.body) << pair.detector;
    EXPECT_EQ(matching.head_width, 0);
    for (const interop::Mismatch& mismatch : matching.mismatches)
      EXPECT_TRUE(mismatch.ours.empty() || mismatch.ours.starts_with("backbone.fpn.") ||
                  mismatch.ours.starts_with("head."))
          << mismatch.ours;
  }
}

TEST(RetinanetNames, ADetectorDoesNotTakeTheBodyOfAnother) {
  const ImportedFile file = named(torch_tensors("efficientnet_lite0", 1000));
  EXPECT_FALSE(interop::match(file, layers_of("retinanet_mini", 3)).replaces_head);
}

// Only COCO's published weights are of BatchNorms that are constants without an epsilon.
TEST(RetinanetNames, TheEpsilonIsTakenInWhereThereWasNone) {
  const auto notes = [](std::int64_t columns, bool trained) {
    std::vector<StoredTensor> tensors = torch_tensors("retinanet_r50", columns);
    if (trained) tensors.push_back({.name = "backbone.body.bn1.num_batches_tracked", .shape = {}});
    return named(tensors).notes.size();
  };
  EXPECT_EQ(notes(91, false), 2U);
  EXPECT_EQ(notes(91, true), 1U) << "the background alone";
  EXPECT_EQ(notes(4, false), 1U);
}

// Vectors and matrices in memory.
class HeldTensors final : public TensorFile {
 public:
  void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    tensors_.push_back({.name = name, .shape = std::move(shape)});
    values_.push_back(std::move(values));
  }
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const override {
    const auto bytes = std::as_bytes(std::span(values_[tensor]));
    for (std::size_t at = 0; at < bytes.size(); at += buffer.size())
      take(bytes.subspan(at, std::min(buffer.size(), bytes.size() - at)));
  }

 private:
  std::vector<StoredTensor> tensors_;
  std::vector<std::vector<float>> values_;
};

std::vector<float> elements(const TensorFile& file, std::size_t tensor) {
  alignas(8) std::array<std::byte, 16> buffer;
  std::vector<float> all;
  file.read(tensor, buffer, [&](std::span<const std::byte> piece) {
    const std::size_t first = all.size();
    all.resize(first + piece.size() / sizeof(float));
    std::memcpy(all.data() + first, piece.data(), piece.size());
  });
  return all;
}

TEST(ChangedTensors, LeaveOutRows) {
  const auto held = std::make_shared<HeldTensors>();
  held->add("kernel", {4, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  held->add("bias", {6}, {0, 1, 2, 3, 4, 5});
  held->add("other", {2}, {7, 8});
  interop::ChangedTensors changed(held);
  changed.leave_out_rows(0, 2);
  changed.leave_out_rows(1, 3);
  EXPECT_EQ(changed.tensors()[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(elements(changed, 0), (std::vector<float>{10, 11, 12, 30, 31, 32}));
  EXPECT_EQ(elements(changed, 1), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(elements(changed, 2), (std::vector<float>{7, 8}));
}

TEST(ChangedTensors, CombineTwoVectors) {
  const auto held = std::make_shared<HeldTensors>();
  held->add("gamma", {5}, {1, 2, 3, 4, 5});
  held->add("variance", {5}, {10, 20, 30, 40, 50});
  interop::ChangedTensors changed(held);
  changed.combine(0, 1, [](float a, float b) { return a + b; });
  EXPECT_EQ(elements(changed, 0), (std::vector<float>{11, 22, 33, 44, 55}));
  EXPECT_EQ(elements(changed, 1), (std::vector<float>{10, 20, 30, 40, 50}));
}

// A channel whose variance is far below the epsilon has the published scale all the same.
TEST(RetinanetNames, PublishedScalesAreKept) {
  const auto held = std::make_shared<HeldTensors>();
  const std::vector<float> gammas{1, 1e-8F, -0.5F}, variances{0.25F, 5.6e-45F, 3e-6F};
  for (StoredTensor& tensor : torch_tensors("retinanet_r50", 91)) {
    std::vector<float> values;
    if (tensor.name == "backbone.body.bn1.weight") values = gammas;
    if (tensor.name == "backbone.body.bn1.running_var") values = variances;
    held->add(tensor.name, tensor.shape, values);
  }
  ImportedFile file{.tensors = held};
  interop::name_torch_layers(file);
  for (const interop::ImportedLayer& layer : file.layers) {
    if (layer.name != "backbone.body.bn1") continue;
    for (const interop::ImportedWeight& weight : layer.weights) {
      if (weight.weight != "gamma") continue;
      const std::vector<float> made = elements(*file.tensors, weight.tensor);
      ASSERT_EQ(made.size(), gammas.size());
      for (std::size_t c = 0; c < made.size(); ++c) {
        const double wanted = double{gammas[c]} / std::sqrt(double{variances[c]});
        const double got = double{made[c]} / std::sqrt(double{variances[c]} + 1e-5);
        EXPECT_NEAR(got, wanted, 1e-6 * std::abs(wanted)) << c;
      }
      return;
    }
  }
  FAIL() << "there is no such gamma";
}

// What is exported has the background again, never positive, and comes back as it was.
TEST(RetinanetNames, ExportedWeightsComeBack) {
  nn::Builder net(op_table(), {.image = 64}, nn::Mode::inference);
  const nn::Heads heads = zoo::retinanet_mini(net, {.classes = 3});
  const std::vector<nn::Layer> layers = nn::layers_of(net, heads);
  Interpreter run(net.graph());
  std::vector<NamedTensor> weights;
  std::map<std::string, std::vector<double>> put;
  for (const nn::Layer& layer : layers)
    for (const nn::Parameter& parameter : layer.parameters) {
      std::vector<double>& values = put[parameter.name];
      for (std::int64_t i = 0; i < parameter.spec.shape.elements(); ++i)
        values.push_back(static_cast<double>(i % 1021) + 1);
      const ValueId id = net.graph().find(parameter.name);
      run.put(id, values);
      weights.push_back({parameter.name, run.view(id)});
    }
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "mini.safetensors";
  interop::write_torch_safetensors(path, layers, weights, {{"format", "pt"}});

  const SafetensorsReader raw(path);
  const std::string output = "head.classification_head.cls_logits";
  for (std::size_t t = 0; t < raw.tensors().size(); ++t) {
    const StoredTensor& tensor = raw.tensors()[t];
    if (tensor.name == output + ".bias") {
      ASSERT_EQ(tensor.shape, std::vector<std::int64_t>{9 * 4});
      const std::vector<float> biases = elements(raw, t);
      for (std::size_t i = 0; i < biases.size(); ++i) EXPECT_EQ(biases[i] == -100, i % 4 == 0) << i;
    } else if (tensor.name == output + ".weight") {
      const std::vector<float> kernel = elements(raw, t);
      for (std::size_t i = 0; i < kernel.size(); ++i)
        ASSERT_EQ(kernel[i] == 0, i / (64 * 9) % 4 == 0) << i;
    }
  }

  const ImportedFile file = interop::open_imported(path);
  EXPECT_EQ(file.network, "retinanet_mini");
  const interop::Matching matching = interop::match(file, layers);
  EXPECT_TRUE(matching.mismatches.empty());
  EXPECT_EQ(matching.head_width, 3);
  for (const NamedTensor& weight : weights) {
    const ValueId id = net.graph().find(weight.name);
    run.put(id, std::vector<double>(put[weight.name].size(), 0.0));
  }
  interop::load(file, matching.matches, weights);
  for (const NamedTensor& weight : weights)
    EXPECT_EQ(run.elements(net.graph().find(weight.name)), put[weight.name]) << weight.name;
}

}  // namespace
}  // namespace plimsoll
