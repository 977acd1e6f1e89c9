// A small network with everything a graph can hold: residents, branches, a home, an update.
#pragma once

#include "autodiff/autodiff.h"
#include "graph/graph.h"
#include "ops/table.h"

namespace plimsoll {

// Two branches joined by a concat, global pool, loss, backward and one update. Branch values have
// the concat as their home.
struct SmallGraph {
  Graph graph{op_table()};
  ValueId image, labels, rate, gamma, left, right, joined, loss;
  std::vector<Gradient> gradients;

  explicit SmallGraph(bool with_backward = true) {
    const Spec channels = plain({8});
    image = graph.add_value("image", blocked(2, 8, 4, 3), Role::input);
    labels = graph.add_value("labels", plain({2}, DType::i32), Role::input);
    rate = graph.add_value("rate", plain({1}), Role::input);
    graph.set_layer("bn");
    gamma = graph.add_value("bn/gamma", channels, Role::parameter);
    const ValueId beta = graph.add_value("bn/beta", channels, Role::parameter);
    graph.set_layer("shift");
    const ValueId bias = graph.add_value("bias", channels, Role::parameter);
    const ValueId velocity = graph.add_value("bias/velocity", channels, Role::optimizer);
    const ValueId shifted = graph.call1("add_bias", {image, bias}, {}, "shift");
    graph.set_layer("bn");
    const Values stats = graph.call("bn_stats", {shifted}, {}, "bn/stats");
    left = graph.call1("bn_apply", {shifted, stats[0], stats[1], gamma, beta},
                       {{"activation", std::string("relu")}, {"epsilon", 1e-5}}, "bn");
    graph.set_layer("");
    right = graph.call1("activation", {shifted}, {{"kind", std::string("tanh")}}, "curve");
    joined = graph.call1("concat", {left, right}, {}, "joined");
    const ValueId pooled = graph.call1("global_pool", {joined}, {}, "pool");
    graph.set_phase(Phase::loss);
    loss = graph.call("softmax_cross_entropy", {pooled, labels}, {}, "loss")[0];
    graph.value(left).home = Home{joined, 0};
    graph.value(right).home = Home{joined, 8};
    if (!with_backward) return;
    gradients = append_backward(graph, loss);
    graph.set_phase(Phase::backward);
    Values norm_of{loss};
    for (const Gradient& gradient : gradients) norm_of.push_back(gradient.value);
    const ValueId norm = graph.call1("global_norm", norm_of, {}, "norm");
    graph.set_phase(Phase::update);
    graph.set_layer("shift");
    for (const Gradient& gradient : gradients)
      if (gradient.of == bias)
        graph.call("sgd", {bias, gradient.value, velocity, rate, norm}, {}, "bias/update");
    graph.set_layer("");
  }
};

}  // namespace plimsoll
