#include <map>
#include <optional>

#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// A call that has been read but not yet emitted, because its only consumer may absorb it.
struct Draft {
  std::string op;
  Attrs attrs;
  Values in;  // ids of the old graph
  Values out;
  std::string layer;
};

class Fuser {
 public:
  Fuser(const Graph& graph, const Keep& keep)
      : graph_(graph), rewriter_(graph), uses_(count_uses(graph, keep)) {}

  Graph run(const Keep& keep) {
    rewriter_.copy_sources();
    for (const Node& node : graph_.nodes()) {
      Draft draft = absorb({node.op->name, node.attrs, node.in, node.out, node.name});
      if (may_wait(draft))
        waiting_.emplace(draft.out[0], std::move(draft));
      else
        emit(draft);
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

  static bool is_rectifier(const std::string& op, const Attrs& attrs) {
    return op == "activation" && (attrs.word("kind") == "relu" || attrs.word("kind") == "relu6");
  }

  // Whether the one consumer of this call's result can take the call over.
  bool may_wait(const Draft& draft) const {
    if (draft.out.size() != 1) return false;
    const Node* consumer = only_consumer(draft.out[0]);
    if (consumer == nullptr) return false;
    const std::string& next = consumer->op->name;
    if (draft.op == "zero_pad")
      return (next == "conv2d" || next == "depthwise_conv2d") && consumer->in[0] == draft.out[0];
    if (draft.op == "bn_apply") {
      if (draft.attrs.word("activation") != "none") return false;
      if (is_rectifier(next, consumer->attrs)) return true;
      return next == "add" && consumer->in.size() == 2 && !draft.attrs.flag("residual") &&
             consumer->in[0] != consumer->in[1];
    }
    return draft.op == "activation" && draft.attrs.word("kind") == "relu" &&
           next == "depthwise_conv2d" && consumer->in[0] == draft.out[0];
  }

  std::optional<Draft> take_waiting(ValueId value, std::string_view op) {
    const auto found = waiting_.find(value);
    if (found == waiting_.end() || found->second.op != op) return std::nullopt;
    Draft draft = std::move(found->second);
    waiting_.erase(found);
    return draft;
  }

  Draft absorb(Draft draft) {
    if (is_rectifier(draft.op, draft.attrs)) {
      if (auto bn = take_waiting(draft.in[0], "bn_apply")) {
        bn->attrs.set("activation", draft.attrs.word("kind"));
        bn->out = draft.out;
        return *bn;
      }
    }
    if (draft.op == "add" && draft.in.size() == 2) {
      // The later operand: what it waits for has been emitted by now in either case.
      for (std::size_t main : {std::size_t{1}, std::size_t{0}}) {
        auto bn = take_waiting(draft.in[main], "bn_apply");
        if (!bn) continue;
        bn->attrs.set("residual", std::int64_t{1});
        bn->in.push_back(draft.in[1 - main]);
        bn->out = draft.out;
        return *bn;
      }
    }
    if (draft.op == "conv2d" || draft.op == "depthwise_conv2d") {
      if (auto pad = take_waiting(draft.in[0], "zero_pad")) {
        Ints pads = draft.attrs.ints("pads");
        for (std::size_t i = 0; i < pads.size(); ++i) pads[i] += pad->attrs.ints("pads")[i];
        draft.attrs.set("pads", pads);
        draft.in[0] = pad->in[0];
      }
    }
    if (draft.op == "depthwise_conv2d") {
      if (auto relu = take_waiting(draft.in[0], "activation")) {
        draft.attrs.set("input_activation", std::string("relu"));
        draft.in[0] = relu->in[0];
      }
    }
    return draft;
  }

  void emit(const Draft& draft) {
    for (ValueId in : draft.in) {
      const auto found = waiting_.find(in);
      if (found == waiting_.end()) continue;
      const Draft first = std::move(found->second);
      waiting_.erase(found);
      emit(first);
    }
    rewriter_.emit(draft.op, draft.in, draft.attrs, draft.out, draft.layer);
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> uses_;
  std::map<ValueId, Draft> waiting_;
};

}  // namespace

Graph fuse(const Graph& graph, const Keep& keep) { return Fuser(graph, keep).run(keep); }

}  // namespace plimsoll
