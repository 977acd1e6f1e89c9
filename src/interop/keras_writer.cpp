#include "interop/keras_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "format/hdf5_writer.h"
#include "format/zip_writer.h"
#include "interop/axes.h"
#include "interop/keras_words.h"
#include "tensor/convert.h"

namespace plimsoll::interop {
namespace {

constexpr std::size_t kPieceElements = std::size_t{1} << 14;
// The first of the versions that read these forms.
constexpr const char* kVersion = "3.0.0";

using Sink = std::function<void(std::span<const std::byte>)>;

// Where a weight is found, and how its axes are to lie.
struct Source {
  const TensorView* view = nullptr;
  Axes axes = Axes::ours;
};

class KerasLayout {
 public:
  KerasLayout(const std::string& description, const std::vector<nn::Layer>& layers,
              const std::vector<NamedTensor>& weights)
      : model_(parse_keras_layers(description)) {
    for (const NamedTensor& weight : weights) views_[weight.name] = &weight.view;
    for (const nn::Layer& layer : layers)
      if (!layer.parameters.empty()) layers_[layer.name] = &layer;
  }

  // layers/<class>[_<number>]/vars/<number>.
  Hdf5NewGroup numbered() {
    Hdf5NewGroup root;
    root.group("vars").attributes.push_back({"name", {model_.name}});
    add_numbered(model_, "", root, "");
    check_complete();
    return root;
  }

  // model_weights/<layer>/<layer>/<weight>, listed in attributes.
  Hdf5NewGroup listed(const std::string& description) {
    Hdf5NewGroup root;
    root.attributes = {{"backend", {"tensorflow"}},
                       {"keras_version", {kVersion}},
                       {"model_config", {description}}};
    Hdf5NewGroup& all = root.group("model_weights");
    all.attributes = {{"backend", {"tensorflow"}}, {"keras_version", {kVersion}}};
    Hdf5NewAttribute names{.name = "layer_names", .is_list = true};
    for (const KerasOutline& layer : model_.layers) {
      names.texts.push_back(layer.name);
      add_listed(layer, all.group(layer.name), "model_weights/" + layer.name + "/");
    }
    all.attributes.push_back(std::move(names));
    check_complete();
    return root;
  }

  void write(const Hdf5Plan& plan, const Sink& sink) const {
    sink(std::as_bytes(std::span(plan.head)));
    std::vector<float> piece;
    const std::string zeros(8, '\0');
    for (const StoredTensor& tensor : plan.tensors) {
      const Source& source = sources_.at(tensor.name);
      const std::vector<int> order = order_of(source.axes, source.view->spec.shape.rank());
      const std::int64_t elements = source.view->spec.shape.elements();
      for (std::int64_t first = 0; first < elements;) {
        piece.resize(std::min(kPieceElements, static_cast<std::size_t>(elements - first)));
        read_elements(*source.view, first, piece, order);
        sink(std::as_bytes(std::span(piece)));
        first += static_cast<std::int64_t>(piece.size());
      }
      sink(std::as_bytes(std::span(zeros)).first(static_cast<std::size_t>(hdf5_padding(tensor))));
    }
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the description.
  void add_numbered(const KerasOutline& model, const std::string& before, Hdf5NewGroup& into,
                    const std::string& path) {
    std::map<std::string, int> counts;
    for (const KerasOutline& layer : model.layers) {
      std::string group = keras_group_name(layer.class_name);
      const int number = counts[group]++;
      if (number > 0) group += "_" + std::to_string(number);
      const std::string place = "layers/" + group;
      Hdf5NewGroup& vars = into.group(place + "/vars");
      vars.attributes.push_back({"name", {layer.name}});
      if (layer.is_model()) {
        add_numbered(layer, before + layer.name + ".", into.group(place), path + place + "/");
      } else if (const nn::Layer* ours = take(before + layer.name)) {
        for (std::size_t p = 0; p < ours->parameters.size(); ++p)
          add_dataset(*ours, p, std::to_string(p), vars, path + place + "/vars/");
      }
    }
  }

  // Of a model inside, all that is trained stands first.
  void add_listed(const KerasOutline& layer, Hdf5NewGroup& group, const std::string& path) {
    std::vector<std::pair<std::string, std::pair<const nn::Layer*, std::size_t>>> trained;
    auto others = trained;
    collect(layer, "", layer.name, trained, others);
    trained.insert(trained.end(), others.begin(), others.end());
    Hdf5NewAttribute names{.name = "weight_names", .is_list = true};
    for (const auto& [name, weight] : trained) {
      const std::size_t slash = name.rfind('/');
      names.texts.push_back(name);
      add_dataset(*weight.first, weight.second, name.substr(slash + 1),
                  group.group(name.substr(0, slash)), path + name.substr(0, slash + 1));
    }
    group.attributes.push_back(std::move(names));
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the description.
  void collect(const KerasOutline& layer, const std::string& before, const std::string& path,
               auto& trained, auto& others) {
    if (layer.is_model()) {
      for (const KerasOutline& inner : layer.layers)
        collect(inner, before + layer.name + ".", path + "/" + inner.name, trained, others);
      return;
    }
    const nn::Layer* ours = take(before + layer.name);
    if (ours == nullptr) return;
    for (std::size_t p = 0; p < ours->parameters.size(); ++p) {
      const std::string word = word_of(ours->parameters[p]);
      auto& into = is_trained(word) && layer.is_trainable ? trained : others;
      into.emplace_back(path + "/" + word, std::pair(ours, p));
    }
  }

  static std::string word_of(const nn::Parameter& parameter) {
    return parameter.name.substr(parameter.name.rfind('/') + 1);
  }

  void add_dataset(const nn::Layer& layer, std::size_t index, const std::string& name,
                   Hdf5NewGroup& group, const std::string& path) {
    const nn::Parameter& parameter = layer.parameters[index];
    const auto view = views_.find(parameter.name);
    expect(view != views_.end(), "a parameter without its tensor");
    const Axes axes =
        keras_axes(word_of(parameter), static_cast<std::size_t>(parameter.spec.shape.rank()),
                   keras_group_name(layer.type));
    group.datasets.push_back({.name = name,
                              .type = ElementType::f32,
                              .shape = stored_shape(parameter.spec.shape, axes)});
    sources_[path + name] = {view->second, axes};
  }

  // Null if our network has no weights there.
  const nn::Layer* take(const std::string& name) {
    const auto found = layers_.find(name);
    if (found == layers_.end()) return nullptr;
    taken_.insert(name);
    return found->second;
  }

  void check_complete() const {
    for (const auto& [name, layer] : layers_)
      if (!taken_.contains(std::string(name)))
        throw UsageError({.where = "layer '" + std::string(name) + "'",
                          .got = "it has weights, and the network's description has no such layer",
                          .expected = "expected a description of the same network"});
  }

  KerasOutline model_;
  std::map<std::string_view, const TensorView*> views_;
  std::map<std::string_view, const nn::Layer*> layers_;
  std::set<std::string> taken_;
  std::map<std::string, Source> sources_;  // by path in the file
};

}  // namespace

void write_keras(const std::filesystem::path& path, KerasForm form, const std::string& description,
                 const std::vector<nn::Layer>& layers, const std::vector<NamedTensor>& weights) {
  KerasLayout layout(description, layers, weights);
  const Hdf5Plan plan =
      plan_hdf5(form == KerasForm::hdf5_model ? layout.listed(description) : layout.numbered());
  if (form == KerasForm::archive) {
    ZipWriter zip(path);
    zip.add("metadata.json", std::string(R"({"keras_version": ")") + kVersion +
                                 R"(", "date_saved": "1980-01-01@00:00:00"})");
    zip.add("config.json", description);
    zip.begin("model.weights.h5", plan.bytes);
    layout.write(plan, [&](auto piece) { zip.append(piece); });
    zip.commit();
  } else {
    AtomicFile file(path);
    layout.write(plan, [&](auto piece) { file.write(piece); });
    file.commit();
  }
}

}  // namespace plimsoll::interop
