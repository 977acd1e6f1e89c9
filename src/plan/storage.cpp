#include "plan/storage.h"

#include <algorithm>

namespace plimsoll {

ValueId root_of(const Graph& graph, ValueId id) {
  while (graph.value(id).home) id = graph.value(id).home->parent;
  return id;
}

std::int64_t offset_in_root(const Graph& graph, ValueId id) {
  std::int64_t bytes = 0;
  while (const auto& home = graph.value(id).home) {
    const Spec& spec = graph.spec(id);
    bytes += home->first_channel * spec.shape[2] * spec.shape[3] * size_of(spec.dtype);
    id = home->parent;
  }
  return bytes;
}

bool is_idle(const Graph& graph, const Node& node) {
  const auto lies_in = [&](ValueId inner, ValueId outer) {
    const auto& home = graph.value(inner).home;
    return home && home->parent == outer;
  };
  if (node.op->view == ViewKind::concat)
    return std::all_of(node.in.begin(), node.in.end(),
                       [&](ValueId in) { return lies_in(in, node.out[0]); });
  if (node.op->view == ViewKind::split)
    return std::all_of(node.out.begin(), node.out.end(),
                       [&](ValueId out) { return lies_in(out, node.in[0]); });
  return false;
}

}  // namespace plimsoll
