// What Keras's optimizers remembered. Versions name their tensors differently, or only count them;
// tensors that are counted are taken where all their shapes are those of the weights.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "interop/keras_outline.h"
#include "interop/keras_store.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

struct Kind {
  std::string name;                // ours
  std::vector<std::string> slots;  // in the order in which Keras makes them; empty: not ours
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// From a training_config, an archive's config.json, or the name that stands beside the tensors.
Kind kind_of(const std::string& config, std::string name) {
  const json whole = parse_keras_outline(config);
  const bool is_archive = whole.is_object() && whole.contains("compile_config");
  const json& parsed = is_archive ? whole["compile_config"] : whole;
  double momentum = 0;
  for (const char* key : {"optimizer_config", "optimizer"}) {
    if (!parsed.is_object() || !parsed.contains(key) || !parsed[key].is_object()) continue;
    const json& optimizer = parsed[key];
    if (optimizer.contains("class_name") && optimizer["class_name"].is_string())
      name = optimizer["class_name"].get<std::string>();
    if (optimizer.contains("config") && optimizer["config"].is_object() &&
        optimizer["config"].contains("momentum") && optimizer["config"]["momentum"].is_number())
      momentum = optimizer["config"]["momentum"].get<double>();
  }
  name = lower(name.substr(name.rfind('>') + 1));
  if (name == "adam" || name == "adamw") return {"adam", {"momentum", "velocity", ""}};
  if (name == "sgd") return {"sgd", {"momentum"}};
  if (name == "rmsprop" && momentum > 0) return {"rmsprop", {"velocity", "momentum", ""}};
  if (name == "rmsprop") return {"rmsprop", {"velocity", ""}};
  return {};
}

// Keras's word for a slot as ours; empty if there is none.
std::string slot_of(const Kind& kind, std::string_view word) {
  if (kind.name == "adam") {
    if (word == "m" || word == "momentum") return "momentum";
    if (word == "v" || word == "velocity") return "velocity";
  }
  if (kind.name == "sgd" && (word == "momentum" || word == "m")) return "momentum";
  if (kind.name == "rmsprop") {
    if (word == "rms" || word == "velocity") return "velocity";
    if (word == "momentum") return "momentum";
  }
  return "";
}

class Slots {
 public:
  Slots(KerasImport& import, Kind kind) : import_(import), kind_(std::move(kind)) {
    import_.file.optimizer.name = kind_.name;
    for (std::size_t v = 0; v < import_.variables.size(); ++v) {
      std::string path = import_.variables[v].path;
      by_path_[path] = v;
      std::ranges::replace(path, '/', '_');
      by_path_.emplace(path, v);
    }
  }

  // Numbers that belong to no weight: how many steps there were, the rate.
  bool take_scalar(std::size_t tensor, bool is_count) {
    const StoredTensor& stored = import_.hdf5.tensors()[tensor];
    if (!stored.shape.empty()) return false;
    import_.taken[tensor] = true;
    if (!is_count) return true;
    alignas(8) std::array<std::byte, 8> value{};
    import_.hdf5.read(tensor, value, [](auto) {});
    std::int64_t steps = 0;
    if (stored.type == ElementType::i64 || stored.type == ElementType::u64) {
      std::memcpy(&steps, value.data(), sizeof steps);
    } else if (stored.type == ElementType::i32) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, value.data(), sizeof narrow);
      steps = narrow;
    } else if (stored.type == ElementType::f32) {
      float real = 0;
      std::memcpy(&real, value.data(), sizeof real);
      if (real >= 0 && real < 1e15F) steps = static_cast<std::int64_t>(real);
    }
    import_.file.optimizer.steps = std::max<std::int64_t>(steps, 0);
    return true;
  }

  // "Adam/conv2d/kernel/m:0", "Adam/m/conv2d/kernel:0", "adam/conv2d_kernel_momentum".
  bool take_named(std::string_view name, std::size_t tensor) {
    for (std::string_view rest = without_number(name);; rest.remove_prefix(rest.find('/') + 1)) {
      const std::size_t first = rest.find('/');
      const std::size_t last = rest.rfind('/');
      if (first != std::string_view::npos &&
          (take(rest.substr(0, last), rest.substr(last + 1), tensor) ||
           take(rest.substr(first + 1), rest.substr(0, first), tensor)))
        return true;
      const std::size_t underscore = rest.rfind('_');
      if (underscore != std::string_view::npos &&
          take(rest.substr(0, underscore), rest.substr(underscore + 1), tensor))
        return true;
      if (first == std::string_view::npos) return false;
    }
  }

  // In the model's order, or by name as Keras 2.0 counted them.
  void take_counted(const std::vector<std::size_t>& tensors) {
    std::vector<std::size_t> order(import_.variables.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.empty() || tensors.size() < order.size() || take_counted(tensors, order)) return;
    std::ranges::sort(order, {},
                      [&](std::size_t v) -> std::string_view { return import_.variables[v].path; });
    take_counted(tensors, order);
  }

 private:
  // All slots of a weight together, or all weights of a slot.
  bool take_counted(const std::vector<std::size_t>& tensors,
                    const std::vector<std::size_t>& order) {
    const std::size_t weights = order.size();
    const std::size_t slots = std::min(tensors.size() / weights, kind_.slots.size());
    const bool prefers_weights = kind_.name == "adam";
    for (const bool by_weight : {prefers_weights, !prefers_weights}) {
      const auto place = [&](std::size_t weight, std::size_t slot) {
        return by_weight ? weight * (tensors.size() / weights) + slot : slot * weights + weight;
      };
      bool fits = true;
      for (std::size_t w = 0; w < weights && fits; ++w)
        for (std::size_t s = 0; s < slots && fits; ++s)
          fits = kind_.slots[s].empty() || has_shape_of(order[w], tensors[place(w, s)]);
      if (!fits) continue;
      for (std::size_t w = 0; w < weights; ++w)
        for (std::size_t s = 0; s < slots; ++s)
          if (!kind_.slots[s].empty()) add(order[w], kind_.slots[s], tensors[place(w, s)]);
      return true;
    }
    return false;
  }

  bool take(std::string_view path, std::string_view word, std::size_t tensor) {
    const std::string slot = slot_of(kind_, word);
    const auto found = slot.empty() ? by_path_.end() : by_path_.find(path);
    if (found == by_path_.end() || !has_shape_of(found->second, tensor)) return false;
    add(found->second, slot, tensor);
    return true;
  }

  const ImportedWeight& weight_of(std::size_t variable) const {
    const KerasVariable& of = import_.variables[variable];
    return import_.file.layers[of.layer].weights[of.weight];
  }

  bool has_shape_of(std::size_t variable, std::size_t tensor) const {
    return import_.hdf5.tensors()[tensor].shape ==
           import_.hdf5.tensors()[weight_of(variable).tensor].shape;
  }

  void add(std::size_t variable, const std::string& slot, std::size_t tensor) {
    import_.file.optimizer.slots.push_back(
        {.weight = weight_of(variable).tensor, .slot = slot, .tensor = tensor});
    import_.taken[tensor] = true;
  }

  KerasImport& import_;
  Kind kind_;
  std::map<std::string, std::size_t, std::less<>> by_path_;
};

}  // namespace

void read_legacy_optimizer(KerasImport& import, const Hdf5Object& group,
                           const std::string& config) {
  const Kind kind = kind_of(config, "");
  if (kind.name.empty()) return;
  Slots slots(import, kind);
  std::vector<std::size_t> counted;
  bool is_named = false;
  for (const std::string& name : split_texts(group, "weight_names")) {
    const Hdf5Object* dataset = name.empty() ? nullptr : group.find(name);
    if (dataset == nullptr || !dataset->tensor || import.taken[*dataset->tensor]) continue;
    if (slots.take_scalar(*dataset->tensor, name.find("iter") != std::string_view::npos)) continue;
    if (slots.take_named(name, *dataset->tensor))
      is_named = true;
    else
      counted.push_back(*dataset->tensor);
  }
  if (!is_named) slots.take_counted(counted);
}

void read_numbered_optimizer(KerasImport& import, const Hdf5Object& vars,
                             const std::string& config) {
  const Kind kind = kind_of(config, vars.text("name"));
  if (kind.name.empty()) return;
  Slots slots(import, kind);
  std::vector<std::size_t> counted;
  for (std::size_t i = 0;; ++i) {
    const Hdf5Object* dataset = vars.find(std::to_string(i));
    if (dataset == nullptr || !dataset->tensor) break;
    // The count of steps, and the rate.
    if (i < 2 && slots.take_scalar(*dataset->tensor, i == 0)) continue;
    counted.push_back(*dataset->tensor);
  }
  slots.take_counted(counted);
}

}  // namespace plimsoll::interop
