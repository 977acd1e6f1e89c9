#include "interop/keras_nodes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include "base/error.h"
#include "interop/keras_json.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

// The output of one call, as the file names it.
struct Reference {
  std::string layer;
  std::int64_t node = 0;
  std::int64_t tensor = 0;
};

// ["conv2d", 0, 0], perhaps with keyword arguments behind.
std::optional<Reference> as_reference(const json& value) {
  if (!value.is_array() || value.size() < 3 || !value[0].is_string() ||
      !value[1].is_number_integer() || !value[2].is_number_integer())
    return std::nullopt;
  return Reference{value[0].get<std::string>(), value[1].get<std::int64_t>(),
                   value[2].get<std::int64_t>()};
}

// Every reference inside a value, in order: Keras 2's lists, and tensors among Keras 3's arguments.
// As deep as the JSON, which parse_keras_json() bounds.
void collect(const json& value, std::vector<Reference>& found) {
  if (const std::optional<Reference> reference = as_reference(value)) {
    found.push_back(*reference);
    return;
  }
  if (value.is_object()) {
    const auto name = value.find("class_name");
    const auto config = value.find("config");
    if (name != value.end() && *name == "__keras_tensor__" && config != value.end() &&
        config->is_object()) {
      const auto history = config->find("keras_history");
      if (history != config->end()) collect(*history, found);
      return;
    }
  }
  if (value.is_structured())
    for (const json& part : value) collect(part, found);
}

class Orderer {
 public:
  Orderer(const std::vector<NodeLayer>& layers, const std::string& where)
      : layers_(layers), where_(where) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      if (!by_name_.emplace(layers[layer].name, layer).second)
        fail("two layers are called '" + layers[layer].name + "'");
      add_nodes(layer);
    }
  }

  NodeOrder order(const json* inputs, const json* outputs) {
    const Reference input = the_one(inputs, "input");
    const Reference output = the_one(outputs, "output");
    for (const std::vector<Reference>& references : references_)
      for (const Reference& reference : references) note(reference);
    note(output);
    const std::size_t last = node_of(output);
    const std::size_t first = node_of(input);
    return sorted(first, last);
  }

 private:
  [[noreturn]] void fail(const std::string& got) const {
    throw DataError(
        {.where = where_, .got = got, .expected = "expected Keras's description of a network"});
  }

  void add_nodes(std::size_t layer) {
    first_.push_back(references_.size());
    const json* inbound = layers_[layer].inbound;
    const bool has_nodes = inbound != nullptr && inbound->is_array() && !inbound->empty();
    if (!has_nodes) {
      references_.emplace_back();  // an InputLayer's own
      count_.push_back(1);
    } else {
      for (const json& node : *inbound) {
        references_.emplace_back();
        collect(node, references_.back());
      }
      count_.push_back(inbound->size());
    }
    highest_.push_back(0);
    owner_.resize(references_.size(), layer);
  }

  Reference the_one(const json* list, const char* what) const {
    std::vector<Reference> found;
    if (list != nullptr) collect(*list, found);
    if (found.empty()) fail(std::string("the model does not name its ") + what);
    if (found.size() > 1)
      throw UsageError({.where = where_,
                        .got = "a model with " + std::to_string(found.size()) + " " + what + "s",
                        .expected = std::string("expected one ") + what});
    return found[0];
  }

  std::size_t layer_of(const Reference& reference) const {
    const auto found = by_name_.find(reference.layer);
    if (found == by_name_.end()) fail("there is no layer '" + reference.layer + "' to read from");
    if (reference.tensor != 0)
      fail("layer '" + reference.layer + "' is read as if it had several outputs");
    return found->second;
  }

  void note(const Reference& reference) {
    std::int64_t& highest = highest_[layer_of(reference)];
    highest = std::max(highest, reference.node);
  }

  // A model that is a layer has, in most versions, a node of its own before those of its calls.
  std::size_t node_of(const Reference& reference) const {
    const std::size_t layer = layer_of(reference);
    const auto count = static_cast<std::int64_t>(count_[layer]);
    const bool counts_own = layers_[layer].is_model && highest_[layer] >= count;
    const std::int64_t at = reference.node - (counts_own ? 1 : 0);
    if (at < 0 || at >= count)
      fail("layer '" + reference.layer + "' has no call " + std::to_string(reference.node));
    return first_[layer] + static_cast<std::size_t>(at);
  }

  // Each node when those it reads are done, the first of the file first; then only what is needed.
  NodeOrder sorted(std::size_t first, std::size_t last) {
    const std::size_t count = references_.size();
    std::vector<std::vector<std::size_t>> inputs(count), readers(count);
    std::vector<std::size_t> waits(count, 0);
    for (std::size_t n = 0; n < count; ++n)
      for (const Reference& reference : references_[n]) {
        inputs[n].push_back(node_of(reference));
        readers[inputs[n].back()].push_back(n);
        ++waits[n];
      }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t n = 0; n < count; ++n)
      if (waits[n] == 0) ready.push(n);
    std::vector<std::size_t> order;
    for (; !ready.empty();) {
      const std::size_t n = ready.top();
      ready.pop();
      order.push_back(n);
      for (const std::size_t reader : readers[n])
        if (--waits[reader] == 0) ready.push(reader);
    }
    std::vector<bool> needed(count, false);
    needed[last] = true;
    for (auto n = order.rbegin(); n != order.rend(); ++n)
      if (needed[*n])
        for (const std::size_t input : inputs[*n]) needed[input] = true;
    if (std::find(order.begin(), order.end(), last) == order.end())
      throw UsageError({.where = where_,
                        .got = "layers read each other in a circle",
                        .expected = "expected a network without one"});
    NodeOrder result;
    std::vector<std::size_t> place(count, 0);
    for (const std::size_t n : order) {
      if (!needed[n]) continue;
      if (inputs[n].empty() && n != first)
        throw UsageError({.where = where_,
                          .got = "layer '" + layers_[owner_[n]].name + "' is a second input",
                          .expected = "expected one input"});
      place[n] = result.nodes.size();
      result.nodes.push_back({.layer = owner_[n], .inputs = {}});
      for (const std::size_t input : inputs[n]) result.nodes.back().inputs.push_back(place[input]);
    }
    result.output = place[last];
    return result;
  }

  const std::vector<NodeLayer>& layers_;
  const std::string& where_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  // By layer: its first node, how many it has, and the highest number by which one is called.
  std::vector<std::size_t> first_, count_;
  std::vector<std::int64_t> highest_;
  // By node: what it reads, and whose it is.
  std::vector<std::vector<Reference>> references_;
  std::vector<std::size_t> owner_;
};

}  // namespace

NodeOrder order_nodes(const std::vector<NodeLayer>& layers, const json* inputs, const json* outputs,
                      const std::string& where) {
  return Orderer(layers, where).order(inputs, outputs);
}

}  // namespace plimsoll::interop
