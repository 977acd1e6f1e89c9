#include <algorithm>
#include <map>
#include <tuple>

#include "ops/calls.h"
#include "passes/rewrite.h"

namespace plimsoll {
namespace {

bool is_pointwise(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  if (!node.op->joins_filters || node.in.size() != 2) return false;
  const Spec& w = graph.spec(node.in[1]);
  const auto all_are = [](const Ints& ints, std::int64_t value) {
    return std::all_of(ints.begin(), ints.end(), [&](std::int64_t i) { return i == value; });
  };
  // Whole blocks of filters, so that the parts of the joined weights are contiguous.
  return w.layout == Layout::kernel && w.shape[0] % w.lanes == 0 && w.shape[2] == 1 &&
         w.shape[3] == 1 && all_are(node.attrs.ints("strides"), 1) &&
         all_are(node.attrs.ints("pads"), 0) && node.attrs.integer("groups") == 1 &&
         uses[node.in[1].at()] == 1 && is_resident(graph.value(node.in[1]).role);
}

using Siblings = std::vector<const Node*>;

// Pointwise convolutions by what they read, whether they are trained, and their kind; at least two
// of each.
std::vector<Siblings> find_siblings(const Graph& graph, const Keep& keep, const WeightKind& kind) {
  const std::vector<int> uses = count_uses(graph, keep);
  std::map<std::tuple<ValueId, Role, double>, Siblings> by_input;
  for (const Node& node : graph.nodes())
    if (is_pointwise(graph, node, uses)) {
      const Value& weight = graph.value(node.in[1]);
      by_input[{node.in[0], weight.role, kind ? kind(weight) : 0.0}].push_back(&node);
    }
  std::vector<Siblings> found;
  for (auto& [key, nodes] : by_input)
    if (nodes.size() > 1) found.push_back(std::move(nodes));
  return found;
}

}  // namespace

MergedGraph merge_siblings(const Graph& graph, const Keep& keep, const WeightKind& kind) {
  const std::vector<Siblings> groups = find_siblings(graph, keep, kind);
  std::map<const Node*, const Siblings*> group_of;
  std::vector<bool> is_part(graph.values().size(), false);
  for (const Siblings& group : groups)
    for (const Node* node : group) {
      group_of[node] = &group;
      is_part[node->in[1].at()] = true;
    }

  Rewriter rewriter(graph);
  for (std::size_t v = 0; v < is_part.size(); ++v)
    if (!graph.values()[v].producer && !is_part[v])
      rewriter.copy_source({static_cast<std::int32_t>(v)});

  std::vector<MergedParameter> merged;
  for (const Node& node : graph.nodes()) {
    const auto found = group_of.find(&node);
    if (found == group_of.end()) {
      rewriter.emit(node);
      continue;
    }
    const Siblings& group = *found->second;
    if (group.front() != &node) continue;
    const Spec& first = graph.spec(node.in[1]);
    std::string name;
    std::int64_t filters = 0;
    Ints sizes;
    for (const Node* sibling : group) {
      name += (name.empty() ? "" : "--") + graph.value(sibling->in[1]).name;
      sizes.push_back(graph.spec(sibling->in[1]).shape[0]);
      filters += sizes.back();
    }
    for (std::size_t i = 0, at = 0; i < group.size();
         at += static_cast<std::size_t>(sizes[i]), ++i) {
      const Value& part = graph.value(group[i]->in[1]);
      merged.push_back({part.name, name, static_cast<std::int64_t>(at), part.spec});
    }
    const Spec whole{.dtype = first.dtype,
                     .shape = {filters, first.shape[1], 1, 1},
                     .layout = Layout::kernel,
                     .lanes = first.lanes};
    Graph& to = rewriter.graph();
    const PhaseScope phase(to, node.phase);
    const LayerScope layer(to, node.layer);
    const ValueId weights = to.add_value(name, whole, graph.value(node.in[1]).role);
    const ValueId y = to.call1(node.op->name, {rewriter[node.in[0]], weights}, node.attrs,
                               node.name + "/siblings");
    const Values parts = ops::split(to, y, sizes, node.name + "/split");
    for (std::size_t i = 0; i < group.size(); ++i) {
      to.rename(parts[i], graph.value(group[i]->out[0]).name);
      rewriter.replace(group[i]->out[0], parts[i]);
    }
  }
  return {rewriter.finish(keep), std::move(merged)};
}

}  // namespace plimsoll
