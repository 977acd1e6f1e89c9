#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// Whether a kernel could normalise what this node reads first, as it reads it.
bool can_normalise(const Node& node) {
  return !node.op->absorbs.normalised.empty() && node.in[0] != node.in[1] &&
         node.attrs.word("input_activation") == "none";
}

}  // namespace

Graph fold_normalisation(const Graph& graph, const Keep& keep) {
  std::vector<int> others = count_uses(graph, keep);  // uses that need the tensor itself
  for (const Node& node : graph.nodes())
    if (can_normalise(node)) --others[node.in[0].at()];
  // The normalisation that vanishes, by its result.
  std::vector<const Node*> folded(graph.values().size(), nullptr);
  for (const Node& node : graph.nodes())
    if (node.op->form == Form::normalisation && !node.attrs.flag("residual") &&
        others[node.out[0].at()] == 0)
      folded[node.out[0].at()] = &node;

  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const Node& node : graph.nodes()) {
    if (node.out.size() == 1 && folded[node.out[0].at()] == &node) continue;
    const Node* bn = node.in.empty() ? nullptr : folded[node.in[0].at()];
    if (bn == nullptr) {
      rewriter.emit(node);
      continue;
    }
    Node both = node;
    both.op = graph.ops().find(node.op->absorbs.normalised);
    both.in = {bn->in[0], node.in[1]};
    both.in.insert(both.in.end(), bn->in.begin() + 1, bn->in.end());
    both.attrs = {};
    for (const AttrSchema& attr : both.op->attrs)
      for (const Attrs* from : {&node.attrs, &bn->attrs})
        if (const AttrValue* value = from->find(attr.name)) both.attrs.set(attr.name, *value);
    rewriter.emit(both);
  }
  return rewriter.finish(keep);
}

}  // namespace plimsoll
