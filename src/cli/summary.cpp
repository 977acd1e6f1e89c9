#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "machine/instructions.h"
#include "ops/table.h"

namespace plimsoll::cli {
namespace {

struct SummarySettings {
  CommonOptions common;
  job::ModelSettings model;
  std::optional<std::int64_t> threads;  // as everywhere; nothing is computed
  bool list = false;
};

struct LayerRow {
  std::string name, type, shape, inputs;
  std::int64_t params = 0;
  std::int64_t activation_bytes = 0;
};

struct Table {
  std::vector<LayerRow> rows;
  std::int64_t params = 0;
  std::int64_t trainable = 0;
  std::int64_t activation_bytes = 0;
};

// Keras's order of dimensions, batch first: (None, 149, 149, 32).
std::string keras_shape(const Spec& spec) {
  std::string text = "(None";
  const Shape& s = spec.shape;
  if (s.rank() == 4)
    text += fmt::format(", {}, {}, {}", s[2], s[3], s[1]);
  else
    for (int axis = 1; axis < s.rank(); ++axis) text += fmt::format(", {}", s[axis]);
  return text + ")";
}

Table make_table(const job::ModelSettings& options) {
  nn::Builder builder(op_table(), options.input(), nn::Mode::training);
  const nn::Heads heads = options.factory()(builder);
  Table table;
  const std::vector<nn::Layer> layers = nn::layers_of(builder, heads);
  for (const nn::Layer& layer : layers) {
    LayerRow row{.name = layer.name,
                 .type = layer.type,
                 .shape = keras_shape(layer.output_spec()),
                 .inputs = {},
                 .params = layer.parameter_count(),
                 .activation_bytes = 0};
    for (const nn::LayerCall& call : layer.calls) {
      row.activation_bytes += call.output_spec.bytes();
      for (const nn::Source& input : call.inputs)
        row.inputs += (row.inputs.empty() ? "" : ", ") + layers[input.layer].name;
    }
    for (const nn::Parameter& parameter : layer.parameters)
      if (parameter.trainable) table.trainable += parameter.spec.shape.elements();
    table.params += row.params;
    table.activation_bytes += row.activation_bytes;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

void print_json(const job::ModelSettings& options, const Table& table) {
  nlohmann::ordered_json json;
  json["model"] = options.model;
  json["params"] = table.params;
  json["trainable_params"] = table.trainable;
  json["batch"] = options.batch;
  json["activation_bytes"] = table.activation_bytes;
  json["layers"] = nlohmann::ordered_json::array();
  for (const LayerRow& row : table.rows)
    json["layers"].push_back({{"name", row.name},
                              {"type", row.type},
                              {"shape", row.shape},
                              {"params", row.params},
                              {"activation_bytes", row.activation_bytes}});
  fmt::print("{}", json_text(json));
}

void print_text(const job::ModelSettings& options, const Table& table) {
  std::size_t widest = 12;
  for (const LayerRow& row : table.rows)
    widest = std::max(widest, row.name.size() + row.type.size() + 3);
  fmt::print("{:<{}}  {:<24} {:>12}  {:>12}  {}\n", "Layer (type)", widest, "Output Shape",
             "Param #", "Output bytes", "Connected to");
  for (const LayerRow& row : table.rows)
    fmt::print("{:<{}}  {:<24} {:>12}  {:>12}  {}\n", row.name + " (" + row.type + ")", widest,
               row.shape, grouped(row.params), to_string(Bytes{row.activation_bytes}), row.inputs);
  fmt::print("\nTotal params: {} ({})\n", grouped(table.params),
             to_string(Bytes{table.params * 4}));
  fmt::print("Trainable params: {}\n", grouped(table.trainable));
  fmt::print("Non-trainable params: {}\n", grouped(table.params - table.trainable));
  fmt::print(
      "All layers' outputs at batch {}: {} (what a framework that keeps every one would hold)\n",
      options.batch, to_string(Bytes{table.activation_bytes}));
}

void print_list(bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const zoo::Network& network : zoo::networks())
      list.push_back(
          {{"name", network.name}, {"about", network.about}, {"image", network.image.h}});
    fmt::print("{}", json_text(list));
    return;
  }
  for (const zoo::Network& network : zoo::networks())
    fmt::print("{:<20} {:>4}x{:<4} {}\n", network.name, network.image.h, network.image.w,
               network.about);
}

}  // namespace

Entry add_summary(CLI::App& command) {
  const auto settings = std::make_shared<SummarySettings>();
  add_options(command, settings->model);
  settings->common.add_to(command);
  add_threads(command, settings->threads);
  command.add_flag("--list", settings->list, "the networks there are");
  command.footer("Example: plimsoll summary --model xception --batch 32");
  return [settings] {
    use_isa(settings->model.isa);
    if (settings->list) {
      print_list(settings->common.json);
      return 0;
    }
    const Table table = make_table(settings->model);
    if (settings->common.json)
      print_json(settings->model, table);
    else
      print_text(settings->model, table);
    return 0;
  };
}

}  // namespace plimsoll::cli
