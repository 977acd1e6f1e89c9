#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// Whether `node` reads the result of a bn_apply in a way that a normalising kernel could.
bool can_normalise(const Node& node, ValueId normalised) {
  const bool is_depthwise =
      node.op->name == "depthwise_conv2d" || node.op->name == "depthwise_conv2d_grad_kernel";
  return is_depthwise && node.in[0] == normalised && node.in[1] != normalised &&
         node.attrs.word("input_activation") == "none";
}

}  // namespace

Graph fold_normalisation(const Graph& graph, const Keep& keep) {
  std::vector<int> others = count_uses(graph, keep);  // uses that need the tensor itself
  for (const Node& node : graph.nodes())
    if (!node.in.empty() && can_normalise(node, node.in[0])) --others[node.in[0].at()];
  // The bn_apply that vanishes, by its result.
  std::vector<const Node*> folded(graph.values().size(), nullptr);
  for (const Node& node : graph.nodes())
    if (node.op->name == "bn_apply" && !node.attrs.flag("residual") &&
        others[node.out[0].at()] == 0)
      folded[node.out[0].at()] = &node;

  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const Node& node : graph.nodes()) {
    if (node.out.size() == 1 && folded[node.out[0].at()] == &node) continue;
    const Node* bn = node.in.empty() ? nullptr : folded[node.in[0].at()];
    if (bn == nullptr) {
      rewriter.copy(node);
      continue;
    }
    Values in{bn->in[0], node.in[1]};
    in.insert(in.end(), bn->in.begin() + 1, bn->in.end());
    const std::string name = "bn_" + node.op->name;
    Attrs attrs;
    for (const AttrSchema& attr : graph.ops().find(name)->attrs)
      for (const Attrs* from : {&node.attrs, &bn->attrs})
        if (const AttrValue* value = from->find(attr.name)) attrs.set(attr.name, *value);
    rewriter.emit(name, in, attrs, node.out, node.name);
  }
  return rewriter.finish(keep);
}

}  // namespace plimsoll
