// Files of detectors as PyTorch writes them, and the way there and back.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "interop/match.h"
#include "interop/readers.h"
#include "interop/torch_writer.h"
#include "ops/table.h"
#include "tests/support/interpreter.h"
#include "tests/support/listed_tensors.h"
#include "tests/support/temporary_folder.h"
#include "zoo/zoo.h"

namespace plimsoll {

inline std::vector<nn::Layer> layers_of(const std::string& network, std::int64_t classes) {
  nn::Builder net(op_table(), {.image = 128}, nn::Mode::inference);
  return nn::layers_of(net, zoo::find_network(network).build(net, {.classes = classes}));
}

// The weights of a network of ours as PyTorch stores them.
inline std::vector<StoredTensor> torch_tensors(const std::vector<nn::Layer>& layers) {
  const std::map<std::string, std::string> words = {{"kernel", "weight"},
                                                    {"gamma", "weight"},
                                                    {"bias", "bias"},
                                                    {"beta", "bias"},
                                                    {"moving_mean", "running_mean"},
                                                    {"moving_variance", "running_var"}};
  std::vector<StoredTensor> tensors;
  for (const nn::Layer& layer : layers)
    for (const nn::Parameter& parameter : layer.parameters) {
      std::vector<std::int64_t> shape(parameter.spec.shape.begin(), parameter.spec.shape.end());
      if (shape.size() == 2) std::swap(shape[0], shape[1]);
      const std::string word = parameter.name.substr(parameter.name.rfind('/') + 1);
      tensors.push_back({.name = layer.name + "." + words.at(word), .shape = shape});
    }
  return tensors;
}

// A detector's, with `classes` columns.
inline std::vector<StoredTensor> torch_tensors(const std::string& network, std::int64_t classes) {
  return torch_tensors(layers_of(network, classes));
}

inline interop::ImportedFile named(std::vector<StoredTensor> tensors) {
  interop::ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(std::move(tensors))};
  interop::name_torch_layers(file);
  return file;
}

inline void expect_all_matched(const interop::ImportedFile& file, std::int64_t classes) {
  const interop::Matching matching = interop::match(file, layers_of(file.network, classes));
  for (const interop::Mismatch& mismatch : matching.mismatches)
    ADD_FAILURE() << mismatch.ours << " | " << mismatch.theirs;
  EXPECT_EQ(matching.head_width, classes);
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

inline std::vector<float> elements(const TensorFile& file, std::size_t tensor) {
  alignas(8) std::array<std::byte, 16> buffer;
  std::vector<float> all;
  file.read(tensor, buffer, [&](std::span<const std::byte> piece) {
    const std::size_t first = all.size();
    all.resize(first + piece.size() / sizeof(float));
    std::memcpy(all.data() + first, piece.data(), piece.size());
  });
  return all;
}

// Weights of a network of ours are written for PyTorch, looked at there, and come back as they
// were.
inline void expect_round_trip(const std::string& network,
                              const std::function<void(const SafetensorsReader&)>& look) {
  nn::Builder net(op_table(), {.image = 64}, nn::Mode::inference);
  const nn::Heads heads = zoo::find_network(network).build(net, {.classes = 3});
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
  const std::filesystem::path path = folder.path() / "written.safetensors";
  interop::write_torch_safetensors(path, layers, weights, {{"format", "pt"}});
  look(SafetensorsReader(path));

  const interop::ImportedFile file = interop::open_imported(path);
  EXPECT_EQ(file.network, network);
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

}  // namespace plimsoll
