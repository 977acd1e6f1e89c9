// Keras 3's layout: layers/<class>[_<number>]/vars/<number>, numbered by class in the model's
// order.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "interop/keras_store.h"
#include "interop/keras_words.h"

namespace plimsoll::interop {
namespace {

// "conv2d_3" as a class and its number; the first has none.
std::pair<std::string, int> class_and_number(const std::string& group) {
  const std::size_t underscore = group.rfind('_');
  int number = 0;
  if (underscore != std::string_view::npos && underscore + 1 < group.size()) {
    const char* end = group.data() + group.size();
    const auto [at, error] = std::from_chars(group.data() + underscore + 1, end, number);
    if (at == end && error == std::errc{} && number > 0)
      return {group.substr(0, underscore), number};
  }
  return {group, 0};
}

// Keras 2.13 says it differently.
const Hdf5Object* find_container(const Hdf5Object& object) {
  const Hdf5Object* layers = object.find("layers");
  return layers != nullptr ? layers : object.find("_layer_checkpoint_dependencies");
}

// Datasets that are called by their numbers, in order, up to the first that is missing.
std::vector<const Hdf5Object*> numbered(const Hdf5Object& vars) {
  std::vector<const Hdf5Object*> found;
  while (const Hdf5Object* next = vars.find(std::to_string(found.size()))) {
    if (!next->tensor) break;
    found.push_back(next);
  }
  return found;
}

class NumberedLayers {
 public:
  explicit NumberedLayers(KerasImport& import) : import_(import) {}

  // NOLINTNEXTLINE(misc-no-recursion): models inside models, to a depth.
  void read(const Hdf5Object& container, const KerasOutline* model, const std::string& before,
            int depth) {
    if (depth > kMaxModelsDeep) return;
    std::map<std::string, int> ranks;
    for (const auto& [object, layer] : in_order(container, model)) {
      const std::string name = before + name_of(*object, layer);
      const std::string class_name = class_and_number(object->name).first;
      if (const Hdf5Object* inner = find_container(*object)) {
        read(*inner, layer, name + ".", depth + 1);
        continue;
      }
      const Hdf5Object* vars = object->find("vars");
      if (vars == nullptr || numbered(*vars).empty()) continue;
      add(*vars, class_name, layer, name);
      import_.file.layers.back().place =
          before + class_name + "#" + std::to_string(ranks[class_name]++);
    }
  }

  bool is_order_known() const { return is_order_known_; }

 private:
  using Placed = std::pair<const Hdf5Object*, const KerasOutline*>;

  static std::string name_of(const Hdf5Object& object, const KerasOutline* layer) {
    if (layer != nullptr && !layer->name.empty()) return layer->name;
    const Hdf5Object* vars = object.find("vars");
    const std::string said = vars == nullptr ? "" : vars->text("name");
    return said.empty() ? object.name : said;
  }

  // As the description has them. Without one only the order within a class is known; classes then
  // stand as their first groups lie in the file.
  std::vector<Placed> in_order(const Hdf5Object& container, const KerasOutline* model) {
    std::map<std::string, std::vector<const Hdf5Object*>> by_class;
    for (const Hdf5Object& member : container.members)
      if (member.is_group) by_class[class_and_number(member.name).first].push_back(&member);
    for (auto& [name, groups] : by_class)
      std::ranges::sort(groups, {},
                        [](const auto* group) { return class_and_number(group->name).second; });
    std::vector<Placed> placed;
    if (model != nullptr) {
      std::map<std::string, std::size_t> wanted;
      for (const KerasOutline& layer : model->layers) ++wanted[keras_group_name(layer.class_name)];
      std::map<std::string, std::size_t> next;
      for (const KerasOutline& layer : model->layers) {
        const std::string group = keras_group_name(layer.class_name);
        const auto groups = by_class.find(group);
        if (groups == by_class.end() || groups->second.size() != wanted[group]) continue;
        placed.emplace_back(groups->second[next[group]++], &layer);
      }
      for (const auto& [group, used] : next) by_class.erase(group);
    }
    const std::size_t known = placed.size();
    for (const auto& [name, groups] : by_class)
      for (const Hdf5Object* group : groups) placed.emplace_back(group, nullptr);
    if (std::any_of(placed.begin() + static_cast<std::ptrdiff_t>(known), placed.end(),
                    [](const Placed& one) { return has_weights(*one.first); }))
      is_order_known_ = false;
    return placed;
  }

  static bool has_weights(const Hdf5Object& object) {
    if (find_container(object) != nullptr) return true;
    const Hdf5Object* vars = object.find("vars");
    return vars != nullptr && !vars->members.empty();
  }

  void add(const Hdf5Object& vars, const std::string& class_name, const KerasOutline* layer,
           const std::string& name) {
    const std::vector<const Hdf5Object*> datasets = numbered(vars);
    std::vector<std::size_t> ranks;
    for (const Hdf5Object* dataset : datasets)
      ranks.push_back(import_.hdf5.tensors()[*dataset->tensor].shape.size());
    const std::vector<std::string> words = keras_weight_words(class_name, layer, ranks);
    ImportedLayer into{.name = name, .weights = {}};
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      const std::size_t tensor = *datasets[i]->tensor;
      if (is_trained(words[i]) && (layer == nullptr || layer->is_trainable))
        import_.variables.push_back({import_.file.layers.size(), i, name + "/" + words[i]});
      into.weights.push_back({words[i], tensor, keras_axes(words[i], ranks[i], class_name)});
      import_.taken[tensor] = true;
    }
    import_.file.layers.push_back(std::move(into));
  }

  KerasImport& import_;
  bool is_order_known_ = true;
};

}  // namespace

void read_numbered_layers(KerasImport& import, const Hdf5Object& root) {
  NumberedLayers layers(import);
  const Hdf5Object* container = find_container(root);
  if (container == nullptr) return;
  const bool is_described = !import.model.layers.empty();
  layers.read(*container, is_described ? &import.model : nullptr, "", 0);
  if (layers.is_order_known()) return;
  import.file.naming = Naming::classes;
  // An optimizer counts its variables in the model's order, which nobody knows.
  import.variables.clear();
}

}  // namespace plimsoll::interop
