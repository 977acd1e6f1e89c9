// Copies a graph node by node, letting a pass replace or leave out some.
#pragma once

#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "passes/passes.h"

namespace plimsoll {

class Rewriter {
 public:
  explicit Rewriter(const Graph& from)
      : from_(from), to_(from.ops()), moved_(from.values().size(), kNoValue) {}

  void copy_source(ValueId old) {
    const Value& value = from_.value(old);
    const LayerScope layer(to_, value.layer);
    moved_[old.at()] = to_.add_value(value.name, value.spec, value.role);
  }
  void copy_sources() {
    for (std::size_t v = 0; v < moved_.size(); ++v)
      if (!from_.values()[v].producer) copy_source({static_cast<std::int32_t>(v)});
  }

  // The new id of an old value that was copied or replaced before.
  ValueId operator[](ValueId old) const {
    expect(bool(moved_[old.at()]), "a pass emits producers before consumers");
    return moved_[old.at()];
  }
  Values operator[](const Values& old) const {
    Values result;
    for (ValueId id : old) result.push_back((*this)[id]);
    return result;
  }
  void replace(ValueId old, ValueId now) { moved_[old.at()] = now; }

  // Emits a node whose operands are ids of the old graph; its outputs stand for the old ones, under
  // their names.
  void emit(const Node& node) {
    const PhaseScope phase(to_, node.phase);
    const LayerScope layer(to_, node.layer);
    const Values made = to_.call(node.op->name, (*this)[node.in], node.attrs, node.name);
    expect(made.size() == node.out.size(), "a replacement has as many outputs as what it replaces");
    for (std::size_t i = 0; i < made.size(); ++i) {
      to_.rename(made[i], from_.value(node.out[i]).name);
      to_.value(made[i]).role = from_.value(node.out[i]).role;
      moved_[node.out[i].at()] = made[i];
    }
  }

  Graph& graph() { return to_; }

  // Hands over the new graph and translates the caller's ids.
  Graph finish(const Keep& keep) {
    for (ValueId* id : keep)
      if (*id) *id = (*this)[*id];
    return std::move(to_);
  }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> moved_;
};

// How many operands of nodes each value is; values the caller keeps count once more.
inline std::vector<int> count_uses(const Graph& graph, const Keep& keep) {
  std::vector<int> uses(graph.values().size(), 0);
  for (const Node& node : graph.nodes())
    for (ValueId in : node.in) ++uses[in.at()];
  for (const ValueId* id : keep)
    if (*id) ++uses[static_cast<std::size_t>(id->index)];
  return uses;
}

}  // namespace plimsoll
