// Networks from Keras's JSON: those of real files, small ones with Keras's own class scores, and
// what must be refused.
#include "interop/keras_network.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ops/table.h"
#include "step/trainer.h"
#include "tests/support/complaints.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

using interop::make_network;
using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The layers with weights in Keras's order.
std::vector<nn::Layer> keras_layers(const zoo::Network& network, zoo::Options options,
                                    nn::Mode mode = nn::Mode::training) {
  nn::Builder net(op_table(), {.channels = network.channels, .image = network.image}, mode);
  const nn::Heads heads = network.build(net, options);
  return heads.logits ? nn::in_keras_order(net.layers(), {net.source_of(heads.logits)})
                      : nn::layers_of(net, heads);
}

std::vector<nn::Parameter> parameters_of(const zoo::Network& network, zoo::Options options) {
  std::vector<nn::Parameter> all;
  for (const nn::Layer& layer : keras_layers(network, options))
    all.insert(all.end(), layer.parameters.begin(), layer.parameters.end());
  return all;
}

// {"class_name": type, "config": {"name": name, ...}}
nlohmann::json layer(const std::string& type, const std::string& name,
                     nlohmann::json config = nlohmann::json::object()) {
  config["name"] = name;
  return {{"class_name", type}, {"config", config}};
}

std::string sequential(std::vector<nlohmann::json> layers) {
  layers[0]["config"]["batch_input_shape"] = {nullptr, 8, 8, 3};
  return nlohmann::json{{"class_name", "Sequential"}, {"config", layers}}.dump();
}

const nlohmann::json kConv = layer("Conv2D", "conv", {{"filters", 4}, {"kernel_size", 3}});
const nlohmann::json kFlat = layer("Flatten", "flat");
const nlohmann::json kDense = layer("Dense", "dense", {{"units", 3}});

TEST(KerasNetwork, ScoresAreThoseOfKeras) {
  for (const nlohmann::json& golden : tests::load_golden("keras_networks")) {
    const std::string label =
        golden["name"].get<std::string>() + ", " + golden["dialect"].get<std::string>();
    SCOPED_TRACE(label);
    const zoo::Network network = make_network(golden["description"].dump(), label);
    const std::vector<double> expected = golden["logits"];
    EXPECT_EQ(network.classes, std::ssize(expected));
    EXPECT_EQ(network.image.h, 16);
    EXPECT_EQ(network.preprocessing, golden["name"] == "nested_model" ? "tf" : "");
    Trainer trainer(
        op_table(),
        [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
        {.input = {.batch = 1, .channels = 3, .image = 16},
         .train_batches = {1},
         .evaluate_batches = {1}});
    trainer.open();
    std::vector<std::string> names;
    for (const nn::Parameter& parameter : trainer.step_graph().parameters)
      names.push_back(parameter.name);
    EXPECT_EQ(names, golden["names"].get<std::vector<std::string>>());
    tests::fill_by_rule(trainer, golden);
    nlohmann::json batch = golden;
    batch["batch"] = 1;
    batch["classes"] = network.classes;
    tests::fill_batch_by_rule(trainer, batch, Purpose::evaluate);
    trainer.evaluate_step(1);
    const TensorView logits = trainer.logits(Purpose::evaluate, 1);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(logits.at<float>(0, static_cast<std::int64_t>(i)), expected[i],
                  1e-4 * (1 + std::abs(expected[i])));
  }
}

TEST(KerasNetwork, InceptionOfTensorflowJsIsTheZoos) {
  SHARED_DATA_OR_SKIP(path, "keras/inception_v3_topology.json");
  const zoo::Network network = make_network(text_of(path), "inception");
  EXPECT_EQ(network.classes, 5);
  EXPECT_EQ(network.image.h, 299);
  const std::vector<nn::Parameter> theirs = parameters_of(network, {.classes = 5});
  const std::vector<nn::Parameter> ours =
      parameters_of(zoo::find_network("inception_v3"), {.classes = 5});
  ASSERT_GT(theirs.size(), ours.size());
  for (std::size_t i = 0; i + 2 < ours.size(); ++i)  // the head has two layers more
    EXPECT_EQ(theirs[i].spec, ours[i].spec) << theirs[i].name << " and " << ours[i].name;
}

TEST(KerasNetwork, ASequentialOfKeras2IsBuilt) {
  SHARED_DATA_OR_SKIP(path, "keras/dog_cat_model.json");
  const zoo::Network network = make_network(text_of(path), "dog_cat");
  EXPECT_EQ(network.classes, 2);
  const std::vector<nn::Layer> layers = keras_layers(network, {.classes = 2});
  EXPECT_EQ(layers[1].name, "conv2d_1");
  EXPECT_EQ(layers.back().name, "dense_2") << "the sigmoid behind it is the task's";
}

TEST(KerasNetwork, TheLastLayerIsAsWideAsThereAreClasses) {
  for (const nlohmann::json& golden : tests::load_golden("keras_networks")) {
    const zoo::Network network = make_network(golden["description"].dump(), "golden");
    nn::Builder net(op_table(), {.image = network.image}, nn::Mode::training);
    const nn::Heads heads = network.build(net, {.classes = 11});
    EXPECT_EQ(net.spec(heads.logits).shape, (Shape{1, 11}));
  }
}

TEST(KerasNetwork, DropoutMayBeAskedFor) {
  const zoo::Network network =
      make_network(sequential({kConv, layer("Dropout", "early", {{"rate", 0.1}}), kFlat,
                               layer("Dropout", "late", {{"rate", 0.2}}), kDense}),
                   "here");
  for (const nn::Layer& layer : keras_layers(network, {.classes = 3, .dropout = 0.7})) {
    if (layer.type != "Dropout") continue;
    EXPECT_EQ(layer.config.real("rate"), layer.name == "late" ? 0.7 : 0.1);
  }
}

TEST(KerasNetwork, RescalingInTheMiddleIsRefused) {
  EXPECT_COMPLAINT(
      make_network(sequential({kConv, layer("Rescaling", "r", {{"scale", 0.5}}), kFlat, kDense}),
                   "here"),
      UsageError, "'r' (Rescaling)");
}

TEST(KerasNetwork, AllThatCannotBeIsNamedAtOnce) {
  const std::string text =
      sequential({kConv, layer("Lambda", "code"), layer("LSTM", "memory"), layer("MyLayer", "own"),
                  layer("DepthwiseConv2D", "twice", {{"kernel_size", 3}, {"depth_multiplier", 2}}),
                  layer("MaxPooling2D", "theano", {{"data_format", "channels_first"}}),
                  layer("Activation", "hard", {{"activation", "hard_sigmoid"}}), kFlat, kDense});
  try {
    make_network(text, "model.json");
    FAIL();
  } catch (const UsageError& error) {
    for (const char* part :
         {"model.json", "6 layers", "'code' (Lambda)", "'memory' (LSTM)", "'own' (MyLayer)",
          "'twice' (DepthwiseConv2D): its depth_multiplier", "'theano'", "'hard'"})
      EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(KerasNetwork, BrokenDescriptionsAreRefusedWithTheirPlace) {
  const std::string whole = tests::load_golden("keras_networks")[0]["description"].dump();
  for (std::size_t part = 0; part < 50; ++part)
    EXPECT_COMPLAINT(make_network(whole.substr(0, whole.size() * part / 50), "cut.json"), DataError,
                     "cut.json");
  EXPECT_COMPLAINT(make_network(std::string(100000, '['), "deep"), DataError, "deep");
  EXPECT_COMPLAINT(make_network("[1, 2]", "list"), DataError, "no model");
  EXPECT_COMPLAINT(make_network(sequential({kConv, kDense, kDense}), "twice"), DataError,
                   "two layers have this name");
  EXPECT_COMPLAINT(make_network(sequential({layer("MaxPooling2D", "pool"), kFlat}), "headless"),
                   UsageError, "include_top");
  // As many numbers as a map of four filters has.
  EXPECT_COMPLAINT(keras_layers(make_network(sequential({kConv, kFlat}), "flat"), {.classes = 4}),
                   UsageError, "the network ends in a tensor of shape 1x144");
}

TEST(KerasNetwork, CirclesAndSecondInputsAreRefused) {
  const auto functional = [](std::vector<std::pair<nlohmann::json, nlohmann::json>> layers,
                             const nlohmann::json& outputs) {
    nlohmann::json list = nlohmann::json::array();
    for (auto& [described, inbound] : layers) {
      described["inbound_nodes"] = inbound;
      list.push_back(described);
    }
    return nlohmann::json{{"class_name", "Functional"},
                          {"config",
                           {{"name", "m"},
                            {"layers", list},
                            {"input_layers", {{"in", 0, 0}}},
                            {"output_layers", outputs}}}}
        .dump();
  };
  using Json = nlohmann::json;
  const Json input = layer("InputLayer", "in", {{"batch_shape", {nullptr, 8, 8, 3}}});
  const auto from = [](const char* name) {
    return Json::array({Json::array({Json::array({name, 0, 0, Json::object()})})});
  };
  const Json circle = Json::array({Json::array(
      {Json::array({"in", 0, 0, Json::object()}), Json::array({"b", 0, 0, Json::object()})})});
  EXPECT_COMPLAINT(
      make_network(functional({{input, Json::array()},
                               {layer("Add", "a"), circle},
                               {layer("Activation", "b", {{"activation", "relu"}}), from("a")}},
                              Json::array({Json::array({"b", 0, 0})})),
                   "here"),
      UsageError, "circle");
  EXPECT_COMPLAINT(make_network(functional({{input, Json::array()}, {kConv, from("nobody")}},
                                           Json::array({Json::array({"conv", 0, 0})})),
                                "here"),
                   DataError, "no layer 'nobody'");
  EXPECT_COMPLAINT(
      make_network(
          functional({{input, Json::array()}, {kConv, from("in")}},
                     Json::array({Json::array({"conv", 0, 0}), Json::array({"in", 0, 0})})),
          "here"),
      UsageError, "2 outputs");
}

// Each model calls the one inside twice: 2^30 layers in a few kilobytes.
TEST(KerasNetwork, ModelsInsideModelsCannotGrowWithoutEnd) {
  nlohmann::json model = {{"class_name", "Sequential"},
                          {"config", {{"name", "m"}, {"layers", {kConv}}}}};
  for (int level = 0; level < 30; ++level) {
    nlohmann::json first = model, second = model;
    first["config"]["name"] = "a";
    second["config"]["name"] = "b";
    if (model.dump().size() > 100000) break;
    model = {{"class_name", "Sequential"},
             {"config", {{"name", "m"}, {"layers", {first, second}}}}};
  }
  EXPECT_ANY_THROW(make_network(model.dump(), "here"));
}

TEST(KerasDescription, IsReadBackAsTheSameNetwork) {
  for (const zoo::Network& network : zoo::networks()) {
    SCOPED_TRACE(network.name);
    const std::vector<nn::Layer> ours = keras_layers(network, {.classes = 7});
    if (network.anchor_base > 0) {
      EXPECT_COMPLAINT(interop::keras_description(network.name, ours, ""), UsageError,
                       "a detector, which ends in scores and deltas");
      continue;
    }
    const std::string text = interop::keras_description(network.name, ours, "softmax");
    if (const char* folder = std::getenv("PLIMSOLL_INTEROP_FILES"))
      std::ofstream(std::string(folder) + "/" + network.name + ".config.json") << text;
    const zoo::Network again = make_network(text, "again");
    EXPECT_EQ(again.classes, 7);
    EXPECT_EQ(again.channels, network.channels);
    std::vector<nn::Layer> theirs = keras_layers(again, {.classes = 7});
    // PyTorch's padding has no word in Keras: it is `same` where that is the same, or its zeros are
    // a layer.
    const bool has_words = !network.name.ends_with("_torch") && network.name != "resnet_v1_50";
    std::erase_if(theirs, [](const nn::Layer& layer) { return layer.name.ends_with("_zeros"); });
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(theirs[i].name, ours[i].name);
      EXPECT_EQ(theirs[i].type, ours[i].type) << ours[i].name;
      if (has_words) {
        EXPECT_EQ(theirs[i].config, ours[i].config) << ours[i].name;
      }
      EXPECT_EQ(theirs[i].output_spec(), ours[i].output_spec()) << ours[i].name;
    }
  }
}

TEST(KerasDescription, KeepsLayersThatAreCalledSeveralTimes) {
  for (const nlohmann::json& golden : tests::load_golden("keras_networks")) {
    const zoo::Network network = make_network(golden["description"].dump(), "golden");
    const std::vector<nn::Layer> ours = keras_layers(network, {.classes = 7});
    const zoo::Network again =
        make_network(interop::keras_description(network.name, ours, ""), "again");
    const std::vector<nn::Layer> theirs = keras_layers(again, {.classes = 7});
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(theirs[i].name, ours[i].name);
      EXPECT_EQ(theirs[i].calls.size(), ours[i].calls.size()) << ours[i].name;
    }
  }
}

}  // namespace
}  // namespace plimsoll
