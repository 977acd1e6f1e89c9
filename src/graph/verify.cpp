#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace plimsoll {
namespace {

void verify_value(const Graph& graph, const Value& value) {
  expect(
      is_resident(value.role) || value.role == Role::input ? !value.producer : bool(value.producer),
      "only inputs and residents have no producer");
  if (!value.home) return;
  const Spec& inner = value.spec;
  const Spec& outer = graph.spec(value.home->parent);
  expect(inner.layout == Layout::blocked && outer.layout == Layout::blocked, "a home is blocked");
  expect(inner.dtype == outer.dtype && inner.lanes == outer.lanes &&
             inner.shape[0] == outer.shape[0] && inner.shape[2] == outer.shape[2] &&
             inner.shape[3] == outer.shape[3],
         "a slice is like its home but for the channels");
  expect(value.home->first_channel % outer.lanes == 0, "a slice starts at a block");
  expect(value.home->first_channel + inner.shape[1] <= outer.shape[1],
         "a slice lies inside its home");
}

}  // namespace

void verify(const Graph& graph) {
  for (const Value& value : graph.values()) verify_value(graph, value);
  std::vector<bool> made(graph.values().size(), false);
  std::vector<bool> overwritten(graph.values().size(), false);
  for (std::size_t i = 0; i < graph.values().size(); ++i) made[i] = !graph.values()[i].producer;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    expect(n == 0 || graph.nodes()[n - 1].phase <= node.phase, "phases follow one another");
    std::vector<Spec> in;
    for (ValueId id : node.in) {
      expect(id.index >= 0 && id.at() < graph.values().size(), "an input is a value of the graph");
      expect(made[id.at()], "a node comes after the producers of its inputs");
      expect(!overwritten[id.at()], "a resident is not read after its update");
      in.push_back(graph.spec(id));
    }
    const Specs out = node.op->infer(node.attrs, in);
    expect(out.size() == node.out.size(), "a node has the outputs its op infers");
    for (std::size_t i = 0; i < out.size(); ++i) {
      expect(graph.spec(node.out[i]) == out[i], "an output has the spec its op infers");
      expect(!made[node.out[i].at()], "a value is made once");
      made[node.out[i].at()] = true;
      expect(graph.value(node.out[i]).producer.index == static_cast<std::int32_t>(n),
             "a value knows its producer");
    }
    for (const InPlace& rule : node.op->in_place) {
      if (!rule.required || rule.out >= static_cast<int>(node.out.size())) continue;
      overwritten[node.in[static_cast<std::size_t>(rule.over)].at()] = true;
    }
  }
  for (bool m : made) expect(m, "every value is made");
}

}  // namespace plimsoll
