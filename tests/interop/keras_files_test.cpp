#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "interop/imported_file.h"
#include "interop/keras_network.h"
#include "interop/keras_words.h"
#include "interop/match.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_files.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::interop {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

float first_of(const ImportedFile& file, std::size_t tensor) {
  alignas(8) std::array<std::byte, 1024> buffer;
  float first = -1;
  file.tensors->read(tensor, buffer, [&](auto piece) {
    if (first == -1) std::memcpy(&first, piece.data(), sizeof first);
  });
  return first;
}

// "stem: kernel 0 hwio, ..." with the first element of each weight.
std::vector<std::string> text_of(const ImportedFile& file) {
  constexpr std::array<const char*, 4> kAxes = {"", " hwio", " hwcm", " out_in"};
  std::vector<std::string> lines;
  for (const ImportedLayer& layer : file.layers) {
    std::string line = layer.name + ":";
    for (const ImportedWeight& weight : layer.weights)
      line += " " + weight.weight + "=" +
              std::to_string(static_cast<int>(first_of(file, weight.tensor))) +
              kAxes[static_cast<std::size_t>(weight.axes)];
    lines.push_back(line);
  }
  return lines;
}

const std::vector<std::string> kTiny = {
    "stem: kernel=0 hwio",
    "norm: gamma=1 beta=2 moving_mean=3 moving_variance=4",
    "deep: kernel=5 hwcm",
    "apart: depthwise_kernel=6 hwcm pointwise_kernel=7 hwio bias=8",
    "inner.first: kernel=9 hwio bias=10",
    "inner.second: kernel=11 hwio bias=12",
    "head: kernel=13 bias=14",
};

// A network's layer with weights of these names.
nn::Layer layer_of(const std::string& name, const std::string& type,
                   const std::vector<std::pair<std::string, Shape>>& weights) {
  nn::Layer layer{.name = name, .type = type};
  for (const auto& [weight, shape] : weights)
    layer.parameters.push_back({.name = name + "/" + weight, .spec = {.shape = shape}});
  return layer;
}

TEST(KerasFiles, ArchivesHaveLayersInTheModelsOrder) {
  const ImportedFile file = open_imported(golden_file("interop/tiny.keras"));
  EXPECT_EQ(text_of(file), kTiny);
  EXPECT_EQ(file.naming, Naming::order);
  EXPECT_EQ(file.format, "Keras archive");
  EXPECT_EQ(file.version.substr(0, 2), "3.");
  EXPECT_THAT(file.description, testing::HasSubstr("\"Functional\""));
  EXPECT_TRUE(file.others.empty());
  EXPECT_EQ(file.optimizer.name, "");
}

TEST(KerasFiles, LegacyModelsAreReadTheSame) {
  const ImportedFile file = open_imported(golden_file("interop/tiny.h5"));
  EXPECT_EQ(text_of(file), kTiny);
  EXPECT_EQ(file.format, "Keras HDF5 model");
  EXPECT_THAT(file.description, testing::HasSubstr("\"Functional\""));
  EXPECT_TRUE(file.others.empty());
}

TEST(KerasFiles, WeightsWithoutADescriptionGoByClassAndNumber) {
  const ImportedFile file = open_imported(golden_file("interop/tiny.weights.h5"));
  EXPECT_EQ(file.naming, Naming::classes);
  EXPECT_EQ(file.description, "");
  std::vector<std::string> sorted = text_of(file);
  std::vector<std::string> expected = kTiny;
  std::ranges::sort(sorted);
  std::ranges::sort(expected);
  EXPECT_EQ(sorted, expected);
  // A network whose layers are called otherwise.
  const std::vector<nn::Layer> layers = {
      layer_of("conv2d_7", "Conv2D", {{"kernel", {2, 3, 3, 3}}}),
      layer_of("inner.conv2d_8", "Conv2D", {{"kernel", {2, 5, 1, 1}}, {"bias", {2}}}),
      layer_of("inner.conv2d_9", "Conv2D", {{"kernel", {3, 2, 1, 1}}, {"bias", {3}}}),
      layer_of("depthwise_conv2d", "DepthwiseConv2D", {{"kernel", {2, 1, 3, 3}}}),
      layer_of("dense", "Dense", {{"kernel", {3, 2}}, {"bias", {2}}}),
  };
  const Matching matching = match(file, layers);
  std::vector<std::string> found;
  for (const Match& one : matching.matches)
    found.push_back(one.parameter + "=" +
                    std::to_string(static_cast<int>(first_of(file, one.tensor))));
  EXPECT_THAT(found,
              ElementsAre("conv2d_7/kernel=0", "inner.conv2d_8/kernel=9", "inner.conv2d_8/bias=10",
                          "inner.conv2d_9/kernel=11", "inner.conv2d_9/bias=12",
                          "depthwise_conv2d/kernel=5", "dense/kernel=13", "dense/bias=14"));
}

TEST(KerasFiles, OlderAndShorterKindsAreRead) {
  const std::vector<std::string> plain = {"a: kernel=0 bias=1", "b: kernel=2 bias=3"};
  EXPECT_EQ(text_of(open_imported(golden_file("interop/plain_legacy_weights.h5"))), plain);
  EXPECT_EQ(text_of(open_imported(golden_file("interop/plain_2_13.weights.h5"))), plain);
  const ImportedFile half = open_imported(golden_file("interop/bfloat16.weights.h5"));
  ASSERT_EQ(half.layers.size(), 2U);
  EXPECT_EQ(half.tensors->tensors()[half.layers[0].weights[0].tensor].type, ElementType::bf16);
}

// "a/kernel" of the weight that is stored in that tensor.
std::string weight_of(const ImportedFile& file, std::size_t tensor) {
  for (const ImportedLayer& layer : file.layers)
    for (const ImportedWeight& weight : layer.weights)
      if (weight.tensor == tensor) return layer.name + "/" + weight.weight;
  return "none";
}

struct OptimizerCase {
  std::string name;
  std::vector<std::string> slots;  // of each weight, with what was stored
};

TEST(KerasFiles, OptimizersKeepWhatTheyRemember) {
  const std::vector<OptimizerCase> cases = {
      {"adam",
       {"a/kernel momentum=0", "a/kernel velocity=1", "a/bias momentum=2", "a/bias velocity=3",
        "b/kernel momentum=4", "b/kernel velocity=5", "b/bias momentum=6", "b/bias velocity=7"}},
      {"sgd",
       {"a/kernel momentum=0", "a/bias momentum=1", "b/kernel momentum=2", "b/bias momentum=3"}},
      {"rmsprop",
       {"a/kernel velocity=0", "a/kernel momentum=4", "a/bias velocity=1", "a/bias momentum=5",
        "b/kernel velocity=2", "b/kernel momentum=6", "b/bias velocity=3", "b/bias momentum=7"}},
  };
  for (const OptimizerCase& one : cases)
    for (const char* ending : {".keras", ".h5"}) {
      const ImportedFile file =
          open_imported(golden_file(std::string("interop/") + one.name + ending));
      EXPECT_EQ(file.optimizer.name, one.name);
      EXPECT_EQ(file.optimizer.steps, 4);
      std::vector<std::string> slots;
      for (const ImportedSlot& slot : file.optimizer.slots)
        slots.push_back(weight_of(file, slot.weight) + " " + slot.slot + "=" +
                        std::to_string(static_cast<int>(first_of(file, slot.tensor))));
      std::ranges::sort(slots);
      std::vector<std::string> expected = one.slots;
      std::ranges::sort(expected);
      EXPECT_EQ(slots, expected) << one.name << ending;
      EXPECT_TRUE(file.others.empty()) << one.name << ending;
    }
}

TEST(KerasFiles, WhatANormalizationSubtractsBecomesPreprocessing) {
  for (const char* name : {"prepared.keras", "prepared.h5"}) {
    const ImportedFile file = open_imported(golden_file(std::string("interop/") + name));
    const zoo::Network network = make_network(file.description, name);
    EXPECT_EQ(network.preprocessing, "torch") << name;
    ASSERT_EQ(file.layers.size(), 2U) << name;
    EXPECT_EQ(file.layers[0].name, "conv") << name;
    EXPECT_THAT(file.others, ElementsAre()) << name;
  }
  const ImportedFile alone = open_imported(golden_file("interop/prepared.weights.h5"));
  EXPECT_EQ(alone.layers.size(), 2U);
  EXPECT_EQ(alone.others.size(), 3U) << "mean, variance and count";
}

TEST(KerasFiles, ApplicationsAreKnownByTheirNames) {
  const std::string text = R"({"class_name": "Sequential", "config": {"name": "@", "layers": [
    {"class_name": "Flatten", "config": {"name": "f", "batch_input_shape": [null, 4, 4, 3]}},
    {"class_name": "Dense", "config": {"name": "d", "units": 2}}]}})";
  const auto named = [&](const std::string& name) {
    std::string description = text;
    return make_network(description.replace(description.find('@'), 1, name), name).preprocessing;
  };
  EXPECT_EQ(named("resnet50"), "caffe");
  EXPECT_EQ(named("densenet121"), "torch");
  EXPECT_EQ(named("my_own"), "");
}

TEST(KerasFiles, ClassesAreSpelledAsTheirGroups) {
  EXPECT_EQ(keras_group_name("Conv2D"), "conv2d");
  EXPECT_EQ(keras_group_name("SeparableConv2D"), "separable_conv2d");
  EXPECT_EQ(keras_group_name("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(keras_group_name("ReLU"), "re_lu");
  EXPECT_EQ(keras_group_name("ZeroPadding2D"), "zero_padding2d");
  EXPECT_EQ(keras_group_name("QDense"), "q_dense");
  EXPECT_EQ(keras_weight_word("convolution2d_1_W:0"), "kernel");
  EXPECT_EQ(keras_weight_word("batchnormalization_1_running_std:0"), "moving_variance");
}

TEST(KerasFiles, RealModelsAreOpened) {
  struct Case {
    std::string name;
    std::size_t layers;
    std::string version;
    std::size_t slots;
    bool is_described;
  };
  const std::vector<Case> cases = {
      {"dog_cat_weights.h5", 5, "2.0.4", 0, false},
      {"fer2013_mini_XCEPTION.102-0.66.hdf5", 29, "2.0.5", 104, true},
      {"gender_mini_XCEPTION.21-0.95.hdf5", 29, "2.0.5", 104, true},
      {"pretrainedResnet.h5", 17, "2.4.0", 68, true},
      {"vww_96.h5", 55, "2.4.0", 220, true},
      {"v3_3layer.keras", 4, "3.14.1", 0, true},
  };
  for (const Case& one : cases) {
    SHARED_DATA_OR_SKIP(path, "keras/" + one.name);
    const ImportedFile file = open_imported(path);
    EXPECT_EQ(file.layers.size(), one.layers) << one.name;
    EXPECT_EQ(file.version, one.version) << one.name;
    EXPECT_EQ(file.optimizer.slots.size(), one.slots) << one.name;
    EXPECT_EQ(!file.description.empty(), one.is_described) << one.name;
    EXPECT_EQ(file.naming, Naming::order) << one.name;
    EXPECT_THAT(file.others, ElementsAre()) << one.name;
  }
}

TEST(KerasFiles, DescriptionsAreOpenedWithoutWeights) {
  SHARED_DATA_OR_SKIP(path, "keras/dog_cat_model.json");
  const ImportedFile file = open_imported(path);
  EXPECT_EQ(file.format, "Keras JSON");
  EXPECT_EQ(file.tensors, nullptr);
  EXPECT_THAT(file.description, testing::HasSubstr("Sequential"));
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(open_imported(folder.put("x", "{]")), DataError, "no JSON");
  EXPECT_COMPLAINT(open_imported(folder.put("x", "{\"a\": 1}")), DataError, "of another kind");
}

TEST(KerasFiles, DeepAndWideDescriptionsTakeLittleMemory) {
  const TemporaryFolder folder;
  constexpr std::size_t kSize = 4 << 20;
  for (const std::string& filling : {std::string(kSize, '['), std::string(kSize, '{')}) {
    const fs::path path = folder.put("x", R"({"class_name": "Model", "weights": )" + filling);
    const std::int64_t peak =
        peak_of_allocations([&] { EXPECT_COMPLAINT(open_imported(path), DataError, "no JSON"); });
    EXPECT_LT(peak, 3 * kSize);
  }
}

TEST(KerasFiles, SaysWhatIsNotKeras) {
  EXPECT_COMPLAINT(open_imported(golden_file("interop/unwritten.h5")), DataError,
                   "without layers of Keras");
  EXPECT_COMPLAINT(open_imported(golden_file("interop/chunked.h5")), DataError, "chunked");
  EXPECT_COMPLAINT(open_imported(golden_file("interop/cycle.h5")), DataError, "cycle");
}

TEST(KerasFiles, DamageIsRefusedOrHarmless) {
  const TemporaryFolder folder;
  for (const char* name : {"sgd.keras", "sgd.h5", "plain_2_13.weights.h5"}) {
    const std::string whole = read_file(golden_file(std::string("interop/") + name), 1_MiB);
    for (std::size_t part = 0; part < 50; ++part)
      EXPECT_COMPLAINT(open_imported(folder.put("cut", whole.substr(0, whole.size() * part / 50))),
                       DataError, "cut");
    const fs::path path = folder.put("damaged", whole);
    const std::int64_t peak = peak_of_allocations([&] {
      for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        const auto flip = [&](char byte) {
          file.seekp(static_cast<std::streamoff>(at));
          file.put(byte);
          file.flush();
        };
        flip(static_cast<char>(whole[at] ^ 1 << at % 8));
        try {
          open_imported(path);
        } catch (const DataError&) {
        }
        flip(whole[at]);
      }
    });
    EXPECT_LT(peak, 2 << 20) << name;
  }
}

}  // namespace
}  // namespace plimsoll::interop
