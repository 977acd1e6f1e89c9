#include <algorithm>

#include "passes/passes.h"

namespace plimsoll {
namespace {

// True where some node needs the value as a whole, dense tensor.
std::vector<bool> find_dense(const Graph& graph, const std::vector<bool>& takes_slices) {
  std::vector<bool> dense(graph.values().size(), false);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (takes_slices[n]) continue;
    const Node& node = graph.nodes()[n];
    for (ValueId in : node.in) dense[in.at()] = true;
    for (ValueId out : node.out) dense[out.at()] = true;
  }
  return dense;
}

bool may_move_in(const Graph& graph, const std::vector<bool>& dense, ValueId part) {
  const Value& value = graph.value(part);
  return !dense[part.at()] && !value.home && value.producer && value.spec.layout == Layout::blocked;
}

// The parts' channels begin at blocks of the whole.
bool is_aligned(const Graph& graph, const Values& parts) {
  return std::all_of(parts.begin(), parts.end() - 1, [&](ValueId part) {
    return graph.spec(part).shape[1] % graph.spec(part).lanes == 0;
  });
}

void move_in(Graph& graph, const std::vector<bool>& dense, const Values& parts, ValueId whole) {
  if (graph.spec(whole).layout != Layout::blocked || !is_aligned(graph, parts)) return;
  std::int64_t channel = 0;
  for (ValueId part : parts) {
    const bool once = std::count(parts.begin(), parts.end(), part) == 1;
    if (once && may_move_in(graph, dense, part)) graph.value(part).home = Home{whole, channel};
    channel += graph.spec(part).shape[1];
  }
}

}  // namespace

void settle_views(Graph& graph, const std::vector<bool>& takes_slices) {
  const std::vector<bool> dense = find_dense(graph, takes_slices);
  // Outer tensors first, so that a slice of a slice finds its parent where it will stay.
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (node.op->view == ViewKind::concat) move_in(graph, dense, node.in, node.out[0]);
  }
  for (const Node& node : graph.nodes())
    if (node.op->view == ViewKind::split) move_in(graph, dense, node.out, node.in[0]);
}

}  // namespace plimsoll
