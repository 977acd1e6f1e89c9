#include "interop/keras_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "interop/imported_file.h"
#include "interop/match.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_files.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::interop {
namespace {

namespace fs = std::filesystem;

// The network of tiny.keras, with weights of its own.
class TinyNetwork {
 public:
  TinyNetwork() {
    add("stem", "Conv2D", {{"kernel", {2, 3, 3, 3}}});
    add("norm", "BatchNormalization",
        {{"gamma", {2}}, {"beta", {2}}, {"moving_mean", {2}}, {"moving_variance", {2}}});
    add("deep", "DepthwiseConv2D", {{"kernel", {2, 1, 3, 3}}});
    add("apart", "SeparableConv2D",
        {{"depthwise_kernel", {2, 1, 1, 1}}, {"pointwise_kernel", {5, 2, 1, 1}}, {"bias", {5}}});
    add("inner.first", "Conv2D", {{"kernel", {2, 5, 1, 1}}, {"bias", {2}}});
    add("inner.second", "Conv2D", {{"kernel", {3, 2, 1, 1}}, {"bias", {3}}});
    add("pool", "GlobalAveragePooling2D", {});
    add("head", "Dense", {{"kernel", {3, 2}}, {"bias", {2}}});
  }

  const std::vector<nn::Layer>& layers() const { return layers_; }

  std::vector<NamedTensor> weights() {
    std::vector<NamedTensor> tensors;
    for (auto& [name, stored] : stored_)
      tensors.push_back({name,
                         {reinterpret_cast<std::byte*>(stored.second.data()), stored.first,
                          stored.first.image_elements()}});
    return tensors;
  }

 private:
  void add(const std::string& name, const std::string& type,
           const std::vector<std::pair<std::string, Shape>>& parameters) {
    nn::Layer layer{.name = name, .type = type};
    for (const auto& [weight, shape] : parameters) {
      const Spec spec{.shape = shape};
      layer.parameters.push_back({.name = name + "/" + weight, .spec = spec});
      stored_[name + "/" + weight] = {
          spec, std::vector<float>(static_cast<std::size_t>(spec.stored_elements()))};
    }
    layers_.push_back(layer);
  }

  std::vector<nn::Layer> layers_;
  std::map<std::string, std::pair<Spec, std::vector<float>>> stored_;
};

// The bytes of every weight, by layer and word.
std::map<std::string, std::vector<std::byte>> content_of(const ImportedFile& file) {
  std::map<std::string, std::vector<std::byte>> content;
  alignas(8) std::array<std::byte, 64> buffer;
  for (const ImportedLayer& layer : file.layers)
    for (const ImportedWeight& weight : layer.weights)
      file.tensors->read(weight.tensor, buffer, [&](auto piece) {
        auto& bytes = content[layer.name + "/" + weight.weight];
        bytes.insert(bytes.end(), piece.begin(), piece.end());
      });
  return content;
}

// With PLIMSOLL_KERAS_EXPORT set, the files stay there for tools/golden/check_keras_export.py.
TEST(KerasWriter, FilesOfEveryFormHoldTheWeights) {
  const TemporaryFolder temporary;
  const char* said = std::getenv("PLIMSOLL_KERAS_EXPORT");
  const fs::path folder = said != nullptr ? fs::path(said) : temporary.path();
  TinyNetwork network;
  const ImportedFile original = open_imported(golden_file("interop/tiny.keras"));
  const Matching matching = match(original, network.layers());
  ASSERT_TRUE(matching.mismatches.empty());
  load(original, matching.matches, network.weights());
  const std::vector<std::pair<KerasForm, std::string>> forms = {
      {KerasForm::archive, "tiny.keras"},
      {KerasForm::hdf5_model, "tiny.h5"},
      {KerasForm::weights, "tiny.weights.h5"}};
  for (const auto& [form, name] : forms) {
    write_keras(folder / name, form, original.description, network.layers(), network.weights());
    const ImportedFile again = open_imported(folder / name);
    EXPECT_EQ(content_of(again), content_of(original)) << name;
    EXPECT_TRUE(again.others.empty()) << name;
    if (form == KerasForm::weights) continue;
    EXPECT_EQ(again.description, original.description);
    EXPECT_EQ(again.layers.size(), original.layers.size());
    for (std::size_t i = 0; i < again.layers.size(); ++i)
      EXPECT_EQ(again.layers[i].name, original.layers[i].name);
  }
}

TEST(KerasWriter, WritesTheSameBytesAgain) {
  const TemporaryFolder folder;
  TinyNetwork network;
  const std::string description = open_imported(golden_file("interop/tiny.keras")).description;
  for (const char* name : {"a", "b"})
    write_keras(folder / name, KerasForm::archive, description, network.layers(),
                network.weights());
  EXPECT_EQ(read_file(folder / "a", 1_MiB), read_file(folder / "b", 1_MiB));
}

TEST(KerasWriter, RefusesADescriptionOfAnotherNetwork) {
  const TemporaryFolder folder;
  TinyNetwork network;
  EXPECT_COMPLAINT(
      write_keras(folder / "x", KerasForm::archive, R"({"class_name": "Sequential", "config": []})",
                  network.layers(), network.weights()),
      UsageError, "no such layer");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace plimsoll::interop
