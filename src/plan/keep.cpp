#include <algorithm>

#include "plan/plan.h"
#include "plan/storage.h"

namespace plimsoll {

std::vector<bool> cheap_drops(const Graph& graph, std::size_t backward_begin) {
  std::vector<bool> read_by_backward(graph.values().size(), false);
  for (std::size_t n = backward_begin; n < graph.nodes().size(); ++n)
    for (ValueId in : graph.nodes()[n].in) read_by_backward[root_of(graph, in).at()] = true;

  const std::vector<Values> members = written_members(graph);
  std::vector<bool> drop(graph.values().size(), false);
  const auto stays = [&](ValueId id) {
    const Value& value = graph.value(id);
    if (is_resident(value.role)) return true;
    const std::size_t root = root_of(graph, id).at();
    return !drop[root] && read_by_backward[root];
  };
  const auto is_cheap = [&](ValueId member) {
    const Node& node = graph.node(graph.value(member).producer);
    return node.op->cheap_to_repeat && std::all_of(node.in.begin(), node.in.end(), stays);
  };
  for (std::size_t n = 0; n < backward_begin && n < graph.nodes().size(); ++n) {
    for (ValueId out : graph.nodes()[n].out) {
      const std::size_t root = root_of(graph, out).at();
      // Decided at the last write of a root: by then the fate of everything it is made of is known.
      if (members[root].empty() || members[root].back() != out || !read_by_backward[root]) continue;
      drop[root] = std::all_of(members[root].begin(), members[root].end(), is_cheap);
    }
  }
  return drop;
}

}  // namespace plimsoll
