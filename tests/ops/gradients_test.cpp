// Every op's backward, as a graph of reference kernels in f64, against finite differences.
#include "tests/support/every_op.h"
#include "tests/support/finite_differences.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

std::vector<double> weights_for(const Spec& spec, std::uint64_t key) {
  return sample_values({.spec = spec}, key);
}

// Nothing is differentiated by integers, nor through the gradient a loss hands out as its second
// output.
bool has_slope(const Graph& graph, const Node& node, std::size_t out) {
  if (!is_real(graph.spec(node.out[out]).dtype)) return false;
  return out == 0 || graph.spec(node.out[0]).shape.elements() > 1;
}

Specs op_outputs(const Graph& graph) {
  Specs specs;
  for (ValueId id : graph.nodes()[0].out) specs.push_back(graph.spec(id));
  return specs;
}

// An image that a convolution reads plain is the network's input: nobody asks for its gradient.
bool is_stem_image(const OpDef& op, const Spec& spec) {
  return op.name == "conv2d" && spec.layout == Layout::plain && spec.shape.rank() == 4;
}

void check_gradients(const OpDef& op, const Sample& sample) {
  Graph graph(op_table());
  Values in;
  std::vector<bool> wants;
  for (const Spec& spec : promoted(op, sample)) {
    wants.push_back(is_real(spec.dtype) && !is_stem_image(op, spec));
    const Role role = wants.back() ? Role::parameter : Role::input;
    in.push_back(graph.add_value("x" + std::to_string(in.size()), spec, role));
  }
  const Values out = graph.call(op.name, in, sample.attrs, "op");
  Differentiated pair{.forward = 1};
  Values dy;
  for (std::size_t i = 0; i < out.size(); ++i) {
    dy.push_back(kNoValue);
    if (!has_slope(graph, graph.nodes()[0], i)) continue;
    dy.back() = graph.add_value("dy" + std::to_string(i), graph.spec(out[i]), Role::input);
    pair.outputs.push_back({out[i], weights_for(graph.spec(out[i]), 77 + i)});
  }
  const Values dx = op.backward({graph, graph.nodes()[0], dy, wants});
  ASSERT_EQ(dx.size(), in.size());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!dx[i] || !wants[i]) continue;
    ASSERT_EQ(graph.spec(dx[i]), graph.spec(in[i])) << "gradient of input " << i;
    pair.inputs.push_back({in[i], dx[i]});
  }
  verify(graph);

  Interpreter run(graph);
  for (std::size_t i = 0; i < in.size(); ++i)
    run.put(in[i], sample_values(sample.in[i], fnv1a64(op.name) + i));
  std::size_t next = 0;
  for (ValueId id : dy)
    if (id) run.put(id, pair.outputs[next++].weights);
  // Reference convolutions are slow: a few elements of each must do.
  const Cost cost = op.cost(graph.nodes()[0].attrs, promoted(op, sample), op_outputs(graph));
  expect_gradients(run, pair, cost.flops > 5e5 ? 4 : 24);
}

TEST_P(EveryOp, GradientsMatchFiniteDifferences) {
  if (op().backward == nullptr) GTEST_SKIP() << "not differentiable";
  const Threads one(1);  // thousands of tiny runs: a team would only wait for itself
  for (std::size_t s = 0; s < op().samples.size(); ++s) {
    SCOPED_TRACE("sample " + std::to_string(s));
    // A pool that is not trained keeps no positions.
    if (op().name == "max_pool" && op().samples[s].attrs.integer("positions") == 0) continue;
    check_gradients(op(), op().samples[s]);
  }
}

}  // namespace
}  // namespace plimsoll
