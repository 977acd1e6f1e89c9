// Graph in, better graph out. Every pass keeps what is computed and changes only how.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"

namespace plimsoll {

// Values of the caller's that must survive a rewrite; each is replaced by its id in the new graph.
using Keep = std::vector<ValueId*>;

// Joins neighbours that one kernel does in one pass, on a forward graph:
//   padding before a convolution        -> its own padding
//   normalisation, sum, relu or relu6   -> normalisation with residual and activation
//   relu before a convolution           -> its own, of what it reads
// where OpDef::absorbs says so.
Graph fuse(const Graph& graph, const Keep& keep);

// A parameter that has become filters [first_filter, first_filter + O) of a larger one.
struct MergedParameter {
  std::string part;   // the name of the parameter that was
  std::string whole;  // the parameter it is now a part of
  std::int64_t first_filter = 0;
  Spec spec;  // of the part
};

struct MergedGraph {
  Graph graph;
  std::vector<MergedParameter> merged;
};

// Runs 1x1 convolutions that read the same tensor as one, on a forward graph: the tensor is read
// once, and the gradients by it need no sum. Their weights become parts of one parameter; only
// weights of the same kind do, where a kind is given.
using WeightKind = std::function<double(const Value& weight)>;
MergedGraph merge_siblings(const Graph& graph, const Keep& keep, const WeightKind& kind = {});

// Lets ops add up the two gradients they are given, instead of a sum before them, where
// Absorbs::gradient_sum says they can.
Graph fold_gradient_sums(const Graph& graph, const Keep& keep);

// Lets ops normalise what they load (Absorbs::normalised: depthwise convolutions and the gradients
// of their weights), where nothing else reads the result of a normalisation: it is then neither
// stored nor kept. Behind autodiff.
Graph fold_normalisation(const Graph& graph, const Keep& keep);

// A head: what lies between `begins`, which the rest of the network makes, and `end`.
struct Section {
  Values begins;
  ValueId end;
};

// Orders the nodes so that every section, with what follows from it before backward, is done before
// the next one begins: then one head's values are alive at a time. Nodes of sections are of phase
// loss from here on; the rest of forward comes before them.
Graph run_by_section(const Graph& graph, const std::vector<Section>& sections, const Keep& keep);

// Gives values a home inside the concat they end in, or the tensor they are split from, wherever
// every node that touches them takes slices: then concat and split copy nothing. `takes_slices`
// has an entry for every node.
void settle_views(Graph& graph, const std::vector<bool>& takes_slices);

}  // namespace plimsoll
