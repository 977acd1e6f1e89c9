#include "graph/graph.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::parameter: return "parameter";
    case Role::frozen: return "frozen";
    case Role::statistics: return "statistics";
    case Role::optimizer: return "optimizer";
    case Role::average: return "average";
    case Role::accumulated: return "accumulated";
    case Role::temporary: return "temporary";
    case Role::gradient: return "gradient";
  }
  bug("role out of range");
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::loss: return "loss";
    case Phase::backward: return "backward";
    case Phase::update: return "update";
  }
  bug("phase out of range");
}

OpTable::OpTable(std::vector<const OpFamily*> families) {
  for (const OpFamily* family : families)
    for (const OpDef& def : family->defs) defs_.push_back(&def);
  std::sort(defs_.begin(), defs_.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < defs_.size(); ++i)
    expect(defs_[i - 1]->name != defs_[i]->name, "two ops have one name");
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto at =
      std::lower_bound(defs_.begin(), defs_.end(), name,
                       [](const OpDef* def, std::string_view key) { return def->name < key; });
  return at != defs_.end() && (*at)->name == name ? *at : nullptr;
}

Attrs complete_attrs(const OpDef& op, const Attrs& given) {
  Attrs complete;
  for (const AttrSchema& schema : op.attrs) complete.set(schema.name, schema.fallback);
  for (const auto& [name, value] : given.entries()) {
    const AttrValue* fallback = complete.find(name);
    if (fallback == nullptr) {
      std::vector<std::string> known;
      for (const AttrSchema& schema : op.attrs) known.push_back(schema.name);
      const auto near = nearest(name, known);
      throw UsageError(
          {.where = op.name,
           .got = "unknown attribute '" + name + "'",
           .expected = near ? "expected '" + *near + "' perhaps" : "expected one the op has"});
    }
    if (fallback->index() == value.index()) {
      complete.set(name, value);
    } else if (std::holds_alternative<double>(*fallback) &&
               std::holds_alternative<std::int64_t>(value)) {
      complete.set(name, static_cast<double>(std::get<std::int64_t>(value)));
    } else {
      throw UsageError({.where = op.name,
                        .got = "attribute '" + name + "' is " + to_string(value),
                        .expected = "expected a value like " + to_string(*fallback)});
    }
  }
  return complete;
}

std::string Graph::unique_name(std::string_view wanted) const {
  std::string name(wanted);
  for (int k = 1; by_name_.contains(name); ++k)
    name = std::string(wanted) + "~" + std::to_string(k);
  return name;
}

ValueId Graph::add_value(std::string_view name, const Spec& spec, Role role) {
  const ValueId id{static_cast<std::int32_t>(values_.size())};
  std::string unique = unique_name(name);
  by_name_.emplace(unique, id);
  values_.push_back({.name = std::move(unique),
                     .spec = spec,
                     .role = role,
                     .layer = is_resident(role) ? layer_ : std::string()});
  return id;
}

Values Graph::call(std::string_view op_name, const Values& in, const Attrs& attrs,
                   std::string_view name) {
  const OpDef* op = ops_->find(op_name);
  if (op == nullptr)
    throw UsageError({.where = std::string(name),
                      .got = "unknown op '" + std::string(op_name) + "'",
                      .expected = "expected an op of the table"});
  Node node{.op = op,
            .attrs = {},
            .in = in,
            .out = {},
            .name = std::string(name),
            .phase = phase_,
            .layer = layer_.empty() ? std::string(name) : layer_};
  std::vector<Spec> specs;
  for (ValueId id : in) specs.push_back(spec(id));
  Specs out_specs;
  try {
    node.attrs = complete_attrs(*op, attrs);
    out_specs = op->infer(node.attrs, specs);
  } catch (const UsageError& error) {
    Complaint complaint = error.complaint();
    complaint.where = op->name + " '" + std::string(name) + "'";
    throw UsageError(complaint);
  }
  const NodeId id{static_cast<std::int32_t>(nodes_.size())};
  for (std::size_t i = 0; i < out_specs.size(); ++i) {
    const std::string output = i == 0 ? node.name : node.name + ":" + std::to_string(i);
    const ValueId out = add_value(output, out_specs[i], Role::temporary);
    value(out).producer = id;
    node.out.push_back(out);
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().out;
}

ValueId Graph::call1(std::string_view op, const Values& in, const Attrs& attrs,
                     std::string_view name) {
  const Values out = call(op, in, attrs, name);
  expect(out.size() == 1, "call1 of an op with several outputs");
  return out[0];
}

std::size_t Graph::begin_of(Phase phase) const {
  const auto first = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const Node& node) { return node.phase >= phase; });
  return static_cast<std::size_t>(first - nodes_.begin());
}

const std::string& Graph::layer_of(ValueId id) const {
  const Value& value = this->value(id);
  return value.producer ? node(value.producer).layer : value.layer;
}

ValueId Graph::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? kNoValue : at->second;
}

void Graph::rename(ValueId id, std::string_view name) {
  by_name_.erase(value(id).name);
  value(id).name = unique_name(name);
  by_name_.emplace(value(id).name, id);
}

Values Backward::call(std::string_view op, const Values& inputs, const Attrs& attrs) const {
  const LayerScope scope(graph, node.layer);
  return graph.call(op, inputs, attrs, node.name + "/grad");
}

ValueId Backward::call1(std::string_view op, const Values& inputs, const Attrs& attrs) const {
  const LayerScope scope(graph, node.layer);
  return graph.call1(op, inputs, attrs, node.name + "/grad");
}

Cost cost_of(const Graph& graph, const Node& node) {
  if (node.op->cost == nullptr) return {};
  Specs in;
  Specs out;
  for (ValueId id : node.in) in.push_back(graph.spec(id));
  for (ValueId id : node.out) out.push_back(graph.spec(id));
  return node.op->cost(node.attrs, in, out);
}

}  // namespace plimsoll
