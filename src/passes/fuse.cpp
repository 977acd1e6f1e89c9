#include <map>
#include <optional>

#include "passes/rewrite.h"

namespace plimsoll {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const Keep& keep)
      : graph_(graph), rewriter_(graph), uses_(count_uses(graph, keep)) {}

  Graph run(const Keep& keep) {
    rewriter_.copy_sources();
    for (const Node& node : graph_.nodes()) {
      Node whole = absorb(node);
      if (may_wait(whole))
        waiting_.emplace(whole.out[0], std::move(whole));
      else
        emit(whole);
    }
    return rewriter_.finish(keep);
  }

 private:
  const Node* only_consumer(ValueId value) const {
    if (uses_[value.at()] != 1) return nullptr;
    for (const Node& node : graph_.nodes())
      for (ValueId in : node.in)
        if (in == value) return &node;
    return nullptr;
  }

  static bool is_rectifier(const Node& node) {
    if (node.op->form != Form::activation) return false;
    const std::string& kind = node.attrs.word("kind");
    return kind == "relu" || kind == "relu6";
  }

  // Whether the one consumer of this node's result can take the node over, or the node it.
  bool may_wait(const Node& node) const {
    if (node.out.size() != 1) return false;
    const Node* consumer = only_consumer(node.out[0]);
    if (consumer == nullptr) return false;
    const Absorbs& next = consumer->op->absorbs;
    const bool reads_first = consumer->in[0] == node.out[0];
    switch (node.op->form) {
      case Form::zero_pad: return next.padding && reads_first;
      case Form::activation:
        return next.input_relu && reads_first && node.attrs.word("kind") == "relu";
      case Form::normalisation:
        if (node.attrs.word("activation") != "none") return false;
        if (is_rectifier(*consumer)) return node.op->absorbs.output_relu;
        return node.op->absorbs.residual && !node.attrs.flag("residual") &&
               consumer->op->form == Form::sum && consumer->in.size() == 2 &&
               consumer->in[0] != consumer->in[1];
      case Form::sum:
      case Form::moments:
      case Form::other: return false;
    }
    bug("form out of range");
  }

  std::optional<Node> take_waiting(ValueId value, Form form) {
    const auto found = waiting_.find(value);
    if (found == waiting_.end() || found->second.op->form != form) return std::nullopt;
    Node node = std::move(found->second);
    waiting_.erase(found);
    return node;
  }

  Node absorb(Node node) {
    if (is_rectifier(node)) {
      if (auto bn = take_waiting(node.in[0], Form::normalisation)) {
        bn->attrs.set("activation", node.attrs.word("kind"));
        bn->out = node.out;
        return *bn;
      }
    }
    if (node.op->form == Form::sum && node.in.size() == 2) {
      // The later operand: what it waits for has been emitted by now in either case.
      for (std::size_t main : {std::size_t{1}, std::size_t{0}}) {
        auto bn = take_waiting(node.in[main], Form::normalisation);
        if (!bn) continue;
        bn->attrs.set("residual", std::int64_t{1});
        bn->in.push_back(node.in[1 - main]);
        bn->out = node.out;
        return *bn;
      }
    }
    if (node.op->absorbs.padding) {
      if (auto pad = take_waiting(node.in[0], Form::zero_pad)) {
        Ints pads = node.attrs.ints("pads");
        for (std::size_t i = 0; i < pads.size(); ++i) pads[i] += pad->attrs.ints("pads")[i];
        node.attrs.set("pads", pads);
        node.in[0] = pad->in[0];
      }
    }
    if (node.op->absorbs.input_relu) {
      if (auto relu = take_waiting(node.in[0], Form::activation)) {
        node.attrs.set("input_activation", std::string("relu"));
        node.in[0] = relu->in[0];
      }
    }
    return node;
  }

  void emit(const Node& node) {
    for (ValueId in : node.in) {
      const auto found = waiting_.find(in);
      if (found == waiting_.end()) continue;
      const Node first = std::move(found->second);
      waiting_.erase(found);
      emit(first);
    }
    rewriter_.emit(node);
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> uses_;
  // Read but not yet emitted, because a neighbour may be joined to it; by what they make.
  std::map<ValueId, Node> waiting_;
};

}  // namespace

Graph fuse(const Graph& graph, const Keep& keep) { return Fuser(graph, keep).run(keep); }

}  // namespace plimsoll
