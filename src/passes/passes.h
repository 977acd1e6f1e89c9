// Graph in, better graph out. Every pass keeps what is computed and changes only how.
#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"

namespace plimsoll {

// Values of the caller's that must survive a rewrite; each is replaced by its id in the new graph.
using Keep = std::vector<ValueId*>;

// Joins neighbours that one kernel does in one pass, on a forward graph:
//   zero_pad + conv2d / depthwise_conv2d  -> explicit padding
//   bn_apply + add + relu / relu6         -> bn_apply with residual and activation
//   relu + depthwise_conv2d               -> depthwise_conv2d with input_activation
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
using WeightKind = std::function<double(std::string_view weight)>;
MergedGraph merge_siblings(const Graph& graph, const Keep& keep, const WeightKind& kind = {});

// Lets bn_grad add up the two gradients it is given, instead of an add before it. Nodes are only
// left out behind the first that it changes, so the indices of forward stay.
Graph fold_gradient_sums(const Graph& graph, const Keep& keep);

// Lets depthwise convolutions and the gradients of their weights normalise what they load, where
// nothing else reads the result of a bn_apply: it is then neither stored nor kept. Behind autodiff;
// leaves out nodes of forward only.
Graph fold_normalisation(const Graph& graph, const Keep& keep);

// Gives values a home inside the concat they end in, or the tensor they are split from, wherever
// every kernel that touches them can work on a slice: then concat and split copy nothing.
void settle_views(Graph& graph);

}  // namespace plimsoll
