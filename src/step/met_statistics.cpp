#include "step/met_statistics.h"

#include "ops/calls.h"
#include "passes/rewrite.h"

namespace plimsoll {

Graph meet_statistics(const Graph& graph, const Keep& keep) {
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const Node& node : graph.nodes()) {
    if (node.op->form == Form::normalisation && node.attrs.flag("training")) {
      Node met = node;
      met.attrs.set("meets", std::int64_t{1});
      rewriter.emit(met);
      continue;
    }
    rewriter.emit(node);
    if (node.op->form != Form::moments) continue;
    Graph& to = rewriter.graph();
    const PhaseScope phase(to, node.phase);
    const LayerScope layer(to, node.layer);
    const ops::Moments met =
        ops::bn_meet(to, {rewriter[node.out[0]], rewriter[node.out[1]]}, node.name + "/meet");
    rewriter.replace(node.out[0], met.mean);
    rewriter.replace(node.out[1], met.variance);
  }
  return rewriter.finish(keep);
}

std::vector<NodeId> meetings_of(const Graph& graph) {
  std::vector<NodeId> meetings;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (graph.nodes()[n].op->meets) meetings.push_back(NodeId{static_cast<std::int32_t>(n)});
  return meetings;
}

}  // namespace plimsoll
