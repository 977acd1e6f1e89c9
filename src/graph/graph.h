// The intermediate representation: named, typed values and the nodes that make them. Forward,
// backward, running statistics and optimizer updates are all nodes of one graph.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/id.h"
#include "graph/op.h"

namespace plimsoll {

// What a value is for. Residents live as long as the run: weights, and what follows them.
enum class Role : std::uint8_t {
  input,        // fed before every step: images, labels, learning rate
  parameter,    // resident: a weight that is trained
  frozen,       // resident: a weight that stays as it is
  statistics,   // resident: running statistics
  optimizer,    // resident: what the optimizer remembers of a parameter
  average,      // resident: the moving average of a parameter
  accumulated,  // resident: a sum over some parts of a batch that waits for others
  temporary,    // made and used inside one step
  gradient,     // the temporary that is a parameter's whole gradient
};

std::string_view name_of(Role role);
inline bool is_resident(Role role) { return role >= Role::parameter && role <= Role::accumulated; }

// The parts of a step, in the order they run.
enum class Phase : std::uint8_t {
  forward,   // the network
  loss,      // what is to become small, and what is counted beside it
  backward,  // gradients, their sums over parts of a batch, and the norm of all
  update,    // of weights and running statistics
};

std::string_view name_of(Phase phase);

// A value that lies inside another one: channels [first_channel, first_channel + C) of `parent`.
struct Home {
  ValueId parent;
  std::int64_t first_channel = 0;
  bool operator==(const Home&) const = default;
};

struct Value {
  std::string name;  // unique in the graph
  Spec spec;
  Role role = Role::temporary;
  NodeId producer = kNoNode;  // none for inputs and residents
  std::optional<Home> home = std::nullopt;
  std::string layer = {};  // of a resident; others belong where their producer does
};

struct Node {
  const OpDef* op = nullptr;
  Attrs attrs;  // complete: defaults are filled in
  Values in;
  Values out;
  std::string name;  // unique together with the op
  Phase phase = Phase::forward;
  std::string layer;  // as its author or the step calls it: "conv2d_3", "loss"
};

// Nodes are kept in an order that can be executed: a node comes after the producers of its inputs.
// A resident that a node updates in place is read by no later node. Phases follow one another.
// Not thread-safe.
class Graph {
 public:
  explicit Graph(const OpTable& ops) : ops_(&ops) {}

  // What is added from now on belongs to this phase and layer; see PhaseScope, LayerScope. Without
  // a layer, a node is one of its own.
  void set_phase(Phase phase) { phase_ = phase; }
  void set_layer(std::string_view layer) { layer_ = layer; }
  Phase phase() const { return phase_; }
  const std::string& layer() const { return layer_; }

  ValueId add_value(std::string_view name, const Spec& spec, Role role);

  // Appends a node. Checks attributes against the op's schema and shapes by its rule; throws
  // UsageError with `name`. Outputs are named after the node, made unique.
  Values call(std::string_view op, const Values& in, const Attrs& attrs, std::string_view name);
  // The same for ops with one output.
  ValueId call1(std::string_view op, const Values& in, const Attrs& attrs, std::string_view name);

  const Value& value(ValueId id) const { return values_[id.at()]; }
  Value& value(ValueId id) { return values_[id.at()]; }
  const Node& node(NodeId id) const { return nodes_[id.at()]; }
  const Spec& spec(ValueId id) const { return value(id).spec; }

  const std::deque<Value>& values() const { return values_; }
  const std::deque<Node>& nodes() const { return nodes_; }
  std::deque<Node>& nodes() { return nodes_; }
  const OpTable& ops() const { return *ops_; }

  // Index of the first node of that phase or a later one; nodes().size() if there is none.
  std::size_t begin_of(Phase phase) const;
  bool trains() const { return begin_of(Phase::backward) < nodes_.size(); }
  // Of a resident or a value that a node makes; empty for inputs.
  const std::string& layer_of(ValueId id) const;

  ValueId find(std::string_view name) const;  // kNoValue when there is none
  void rename(ValueId id, std::string_view name);

 private:
  std::string unique_name(std::string_view wanted) const;

  const OpTable* ops_;
  Phase phase_ = Phase::forward;
  std::string layer_;
  std::deque<Value> values_;  // deques: references stay valid while the graph grows
  std::deque<Node> nodes_;
  std::unordered_map<std::string, ValueId> by_name_;
};

// What is added to the graph belongs to that phase as long as this lives.
class PhaseScope {
 public:
  PhaseScope(Graph& graph, Phase phase) : graph_(graph), before_(graph.phase()) {
    graph.set_phase(phase);
  }
  ~PhaseScope() { graph_.set_phase(before_); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Graph& graph_;
  Phase before_;
};

// And to that layer.
class LayerScope {
 public:
  LayerScope(Graph& graph, std::string_view layer) : graph_(graph), before_(graph.layer()) {
    graph.set_layer(layer);
  }
  ~LayerScope() { graph_.set_layer(before_); }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

// What an op's backward is given. Returned: one gradient per input, kNoValue where none is wanted
// or none exists.
struct Backward {
  Graph& graph;
  const Node& node;
  const Values& dy;                // one per output; kNoValue where the loss does not depend on it
  const std::vector<bool>& wants;  // one per input

  ValueId in(std::size_t i) const { return node.in[i]; }
  ValueId out(std::size_t i) const { return node.out[i]; }
  Values call(std::string_view op, const Values& inputs, const Attrs& attrs = {}) const;
  ValueId call1(std::string_view op, const Values& inputs, const Attrs& attrs = {}) const;
  Values none() const { return Values(node.in.size(), kNoValue); }
};

// The price of one execution of a node; zero where its op names none.
Cost cost_of(const Graph& graph, const Node& node);

// The schema's defaults overlaid with `given`; UsageError names an unknown attribute or a wrong
// type.
Attrs complete_attrs(const OpDef& op, const Attrs& given);

// Aborts if the graph breaks a rule of its own (order, phases, specs, uniqueness, updates, homes).
void verify(const Graph& graph);

// A printed graph parses back to an equal one; lines are stable, so versions diff well.
std::string to_text(const Graph& graph);
// UsageError with line and column on anything wrong. `source` names the text in messages.
Graph parse_graph(std::string_view text, const OpTable& ops, std::string_view source);

}  // namespace plimsoll
