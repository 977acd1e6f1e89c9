#include "tests/support/golden.h"

#include <cmath>
#include <cstring>
#include <fstream>

#include "base/random.h"
#include "ops/table.h"
#include "tensor/convert.h"
#include "zoo/zoo.h"

namespace plimsoll::tests {
namespace {

std::uint64_t raw_bits(std::uint64_t name_hash, std::uint64_t i) {
  return splitmix64(name_hash + (i + 1) * 0x9E3779B97F4A7C15ULL) >> 40;
}

}  // namespace

float rule_value(const std::string& name, const Shape& shape, double beta_mean, double r) {
  const std::string kind = name.substr(name.rfind('/') + 1);
  if (kind == "moving_mean") return 0.0F;
  if (kind == "moving_variance") return 1.0F;
  if (kind == "gamma") return static_cast<float>(1 + 0.1 * r);
  if (kind == "beta") return static_cast<float>(beta_mean + 0.1 * r);
  if (kind == "bias") return static_cast<float>(0.1 * r);
  std::int64_t fan_in = shape.rank() == 2 ? shape[0] : shape[1] * shape[2] * shape[3];
  return static_cast<float>(r * std::sqrt(6.0 / static_cast<double>(fan_in)));
}

std::int32_t rule_label(std::uint64_t n, std::uint64_t classes) {
  return static_cast<std::int32_t>(raw_bits(fnv1a64("label"), n) % classes);
}

nlohmann::json load_golden(const std::string& network) {
  std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/" + network + ".json");
  return nlohmann::json::parse(file);
}

Trainer golden_trainer(const nlohmann::json& golden, const OptimizerOptions& optimizer,
                       const TrainerOptions& base) {
  const std::int64_t batch = golden["batch"];
  const std::vector<std::int64_t> image = golden["image"];
  const zoo::Options options{.classes = golden["classes"], .dropout = 0};
  const zoo::Network& network = zoo::find_network(golden["network"].get<std::string>());
  TrainerOptions all = base;
  all.input = {.batch = batch,
               .channels = image[0],
               .image = {image[1], image[2]},
               .lanes = base.input.lanes};
  all.train_batches = {batch};
  all.evaluate_batches = {batch};
  all.optimizer = optimizer;
  return Trainer(
      op_table(), [&network, options](nn::Builder& net) { return network.build(net, options); },
      all);
}

void fill_by_rule(Trainer& trainer, const nlohmann::json& golden) {
  const double beta_mean = golden.contains("beta") ? golden["beta"].get<double>() : 0.0;
  std::vector<float> values;
  for (const NamedTensor& tensor : weight_tensors(trainer.session(), trainer.step_graph())) {
    const std::uint64_t hash = fnv1a64(tensor.name);
    values.resize(static_cast<std::size_t>(tensor.view.spec.shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = rule_value(tensor.name, tensor.view.spec.shape, beta_mean, signed_unit(hash, i));
    write_elements(tensor.view, 0, values);
  }
  for (const std::string& slot : trainer.step_graph().slots) {
    const TensorView view = trainer.session().resident(slot);
    std::memset(view.data, 0, static_cast<std::size_t>(view.spec.bytes()));
  }
}

void fill_part_by_rule(const StepTensors& inputs, const nlohmann::json& golden,
                       std::int64_t first) {
  const std::uint64_t classes = golden["classes"];
  const TensorView image = inputs.at("image");
  const std::int64_t before = first * image.spec.image_elements();
  for (std::int64_t i = 0; i < image.spec.shape.elements(); ++i)
    image.as<float>()[i] =
        static_cast<float>(signed_unit(fnv1a64("image"), static_cast<std::uint64_t>(before + i)));
  const TensorView label = inputs.at("label");
  for (std::int64_t n = 0; n < label.spec.shape[0]; ++n)
    label.at<std::int32_t>(n) = rule_label(static_cast<std::uint64_t>(first + n), classes);
}

void fill_batch_by_rule(Trainer& trainer, const nlohmann::json& golden, Purpose purpose) {
  fill_part_by_rule(trainer.tensors(purpose, golden["batch"]), golden, 0);
}

}  // namespace plimsoll::tests
