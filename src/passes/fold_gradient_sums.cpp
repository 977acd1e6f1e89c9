#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// The sum of two that alone feeds this node with its one gradient; null if there is none.
const Node* sum_before(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  if (!node.op->absorbs.gradient_sum || node.attrs.integer("terms") != 1) return nullptr;
  const ValueId dz = node.in[0];
  if (uses[dz.at()] != 1 || !graph.value(dz).producer) return nullptr;
  const Node& sum = graph.node(graph.value(dz).producer);
  const bool plain_sum =
      sum.op->form == Form::sum && sum.in.size() == 2 && sum.attrs.real("last_factor") == 1;
  return plain_sum ? &sum : nullptr;
}

}  // namespace

Graph fold_gradient_sums(const Graph& graph, const Keep& keep) {
  const std::vector<int> uses = count_uses(graph, keep);
  std::vector<bool> folded(graph.nodes().size(), false);
  for (const Node& node : graph.nodes())
    if (const Node* sum = sum_before(graph, node, uses))
      folded[graph.value(sum->out[0]).producer.at()] = true;

  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (folded[n]) continue;
    const Node* sum = sum_before(graph, node, uses);
    if (sum == nullptr) {
      rewriter.emit(node);
      continue;
    }
    Node folded_node = node;
    folded_node.in = sum->in;
    folded_node.in.insert(folded_node.in.end(), node.in.begin() + 1, node.in.end());
    folded_node.attrs.set("terms", std::int64_t{2});
    rewriter.emit(folded_node);
  }
  return rewriter.finish(keep);
}

}  // namespace plimsoll
