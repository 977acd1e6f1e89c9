// Runs a graph with reference kernels, every value in memory of its own: slow and obvious.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "exec/jobs.h"
#include "graph/graph.h"
#include "tests/support/fenced_tensor.h"

namespace plimsoll {

// Keeps a reference to the graph, which must not change meanwhile.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values()) tensors_.emplace_back(value.spec, 0, false);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) replace_required(graph.nodes()[n]);
  }

  const TensorView& view(ValueId id) const { return views_of(id); }
  void put(ValueId id, const std::vector<double>& values) { put_elements(view(id), values); }
  std::vector<double> elements(ValueId id) const { return logical_elements(view(id)); }

  // Runs nodes [first, last) in order.
  void run(std::size_t first, std::size_t last) {
    for (std::size_t n = first; n < last; ++n) run(graph_.nodes()[n]);
  }
  void run() { run(0, graph_.nodes().size()); }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }

  const TensorView& views_of(ValueId id) const {
    for (const auto& [out, in] : replaced_)
      if (out == id) return views_of(in);
    return tensors_[at(id)].view();
  }

  // An update's output is the new content of its input.
  void replace_required(const Node& node) {
    for (const InPlace& rule : node.op->in_place) {
      const auto out = static_cast<std::size_t>(rule.out),
                 over = static_cast<std::size_t>(rule.over);
      if (rule.required && out < node.out.size())
        replaced_.emplace_back(node.out[out], node.in[over]);
    }
  }

  void run(const Node& node) {
    std::vector<TensorView> in, out;
    std::vector<Operand> in_operands, out_operands;
    for (ValueId id : node.in) {
      in.push_back(view(id));
      in_operands.push_back({graph_.spec(id)});
    }
    for (ValueId id : node.out) {
      out.push_back(view(id));
      out_operands.push_back({graph_.spec(id)});
    }
    const auto job =
        prepare(node.op->kernels.back(), {node.attrs, in_operands, out_operands, this_process()});
    expect(job != nullptr, "a reference kernel takes every call");
    job->compile();
    const FencedTensor scratch(plain({job->scratch() + 1}, DType::u8), 0, false);
    job->run({in, out, scratch.view().data});
  }

  const Graph& graph_;
  std::deque<FencedTensor> tensors_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace plimsoll
