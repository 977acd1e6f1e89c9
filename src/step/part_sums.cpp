#include "step/part_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/calls.h"
#include "passes/rewrite.h"

namespace plimsoll {
namespace {

// The last bucket leaves when backward is done and hides behind nothing, so it is small.
constexpr std::int64_t kLastBucketBytes = std::int64_t{1} << 20;

// How many of the values, in the order in which they are made, go into each bucket.
std::vector<std::size_t> bucket_sizes(const std::vector<std::int64_t>& bytes,
                                      std::int64_t bucket_bytes) {
  std::size_t last = bytes.size();
  for (std::int64_t sum = 0; last > 0; --last) {
    sum += bytes[last - 1];
    if (sum > std::min(kLastBucketBytes, bucket_bytes)) break;
  }
  std::vector<std::size_t> sizes;
  std::size_t size = 0;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ++size;
    sum += bytes[i];
    const bool is_full = sum >= bucket_bytes || size == ops::kMostReduced;
    if (!is_full && i + 1 != last && i + 1 != bytes.size()) continue;
    sizes.push_back(size);
    size = 0;
    sum = 0;
  }
  return sizes;
}

class PartSummer {
 public:
  PartSummer(const Graph& graph, const std::vector<Summed>& summed, const PartRequest& request)
      : graph_(graph), request_(request), rewriter_(graph), summed_(summed) {
    std::ranges::stable_sort(summed_, {}, [&](const Summed& s) { return maker_of(s); });
    rewriter_.copy_sources();
    code_ = rewriter_.graph().add_value("code", plain({2}, DType::i32), Role::input);
    if (request.bucket_bytes == 0 || request.part == Part::early) return;
    std::vector<std::int64_t> bytes;
    for (const Summed& one : summed_) bytes.push_back(graph.spec(*one.value).bytes());
    buckets_ = bucket_sizes(bytes, request.bucket_bytes);
  }

  Graph run(const Keep& keep) {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      // What is made before backward may be made again there; its sum may not.
      if (graph_.nodes()[n].phase >= Phase::backward) sum_made_before(n);
      rewriter_.emit(graph_.nodes()[n]);
    }
    sum_made_before(graph_.nodes().size());
    Graph summed = rewriter_.finish(keep);
    for (std::size_t i = 0; i < sums_.size(); ++i) *summed_[i].value = sums_[i];
    return summed;
  }

 private:
  std::int32_t maker_of(const Summed& one) const { return graph_.value(*one.value).producer.index; }

  void sum_made_before(std::size_t node) {
    for (; next_ < summed_.size(); ++next_) {
      if (maker_of(summed_[next_]) >= static_cast<std::int32_t>(node)) return;
      sum(summed_[next_]);
      if (bucket_ < buckets_.size() && sums_.size() - reduced_ == buckets_[bucket_]) reduce();
    }
  }

  void sum(const Summed& one) {
    Graph& to = rewriter_.graph();
    const PhaseScope phase(to, Phase::backward);
    const LayerScope layer(to, graph_.layer_of(*one.value));
    const ValueId value = rewriter_[*one.value];
    const Spec spec = to.spec(value);
    Values slots;
    for (int s = 0; s < request_.slots; ++s)
      slots.push_back(
          to.add_value(fmt::format("accumulated/{}/{}", s, one.name), spec, Role::accumulated));
    slots_.insert(slots_.end(), slots.begin(), slots.end());
    if (request_.part == Part::early) {
      ops::stow(to, value, code_, slots, one.name + "/stow");
      sums_.push_back(value);
      return;
    }
    sums_.push_back(ops::carry(to, value, code_, slots, one.name + "/sum"));
    to.value(sums_.back()).role = to.value(value).role;
  }

  void reduce() {
    Graph& to = rewriter_.graph();
    const PhaseScope phase(to, Phase::backward);
    const LayerScope layer(to, "exchange");
    const auto begin = static_cast<std::ptrdiff_t>(reduced_);
    const Values sums(sums_.begin() + begin, sums_.end());
    const Values slots(slots_.begin() + begin * request_.slots, slots_.end());
    const Values whole = ops::reduce(to, sums, slots, fmt::format("exchange/{}", bucket_));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      to.value(whole[i]).role = to.value(sums[i]).role;
      sums_[reduced_ + i] = whole[i];
    }
    reduced_ = sums_.size();
    ++bucket_;
  }

  const Graph& graph_;
  const PartRequest& request_;
  Rewriter rewriter_;
  std::vector<Summed> summed_;  // in the order in which they are made
  std::vector<std::size_t> buckets_;
  ValueId code_;
  Values sums_;   // of summed_, as far as they are there
  Values slots_;  // of these
  std::size_t next_ = 0;
  std::size_t reduced_ = 0;  // of sums_
  std::size_t bucket_ = 0;
};

}  // namespace

Graph sum_over_parts(const Graph& graph, const std::vector<Summed>& summed,
                     const PartRequest& request, const Keep& keep) {
  return PartSummer(graph, summed, request).run(keep);
}

Graph behind_exchanges(const Graph& graph, const Keep& keep) {
  Rewriter rewriter(graph);
  std::vector<bool> is_there(graph.values().size(), false);
  std::vector<bool> follows(graph.nodes().size(), false);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto is_made = [&](ValueId in) {
      const NodeId maker = graph.value(in).producer;
      return maker && follows[maker.at()];
    };
    follows[n] = node.op->exchanged || std::ranges::any_of(node.in, is_made);
    if (!follows[n]) continue;
    for (const ValueId in : node.in) {
      if (is_made(in) || is_there[in.at()]) continue;
      is_there[in.at()] = true;
      const Value& value = graph.value(in);
      if (value.producer)
        rewriter.replace(in, rewriter.graph().add_value(value.name, value.spec, Role::input));
      else
        rewriter.copy_source(in);
    }
    rewriter.emit(node);
  }
  return rewriter.finish(keep);
}

}  // namespace plimsoll
