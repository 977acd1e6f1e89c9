// Copies a graph node by node, letting a pass replace or leave out some.
#pragma once

#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "passes/passes.h"

namespace plimsoll {

class Rewriter {
 public:
  // Starts with the inputs and residents of `from`, except those `skip` holds for.
  explicit Rewriter(const Graph& from)
      : from_(from), to_(from.ops()), moved_(from.values().size(), kNoValue) {}

  void copy_source(ValueId old) {
    const Value& value = from_.value(old);
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
  bool has(ValueId old) const { return bool(moved_[old.at()]); }
  Values operator[](const Values& old) const {
    Values result;
    for (ValueId id : old) result.push_back((*this)[id]);
    return result;
  }
  void replace(ValueId old, ValueId now) { moved_[old.at()] = now; }

  // Emits a call whose outputs stand for the old values `out`, under their names.
  void emit(std::string_view op, const Values& in_old, const Attrs& attrs, const Values& out,
            std::string_view layer) {
    const Values made = to_.call(op, (*this)[in_old], attrs, layer);
    expect(made.size() == out.size(), "a replacement has as many outputs as what it replaces");
    for (std::size_t i = 0; i < made.size(); ++i) {
      to_.rename(made[i], from_.value(out[i]).name);
      to_.value(made[i]).role = from_.value(out[i]).role;
      moved_[out[i].at()] = made[i];
    }
  }
  void copy(const Node& node) { emit(node.op->name, node.in, node.attrs, node.out, node.name); }

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
