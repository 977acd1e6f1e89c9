#include "step/updates.h"

#include <fmt/format.h>

#include "dist/shard.h"
#include "ops/calls.h"

namespace plimsoll {
namespace {

// The name that patterns see: of weights that were merged, which share a factor, the first's.
const std::string& pattern_name(const std::string& weight, const StepGraph& step) {
  for (const MergedParameter& merged : step.merged)
    if (merged.whole == weight) return merged.part;
  return weight;
}

class Updater {
 public:
  Updater(Graph& graph, const OptimizerOp& optimizer, const Tuning& tuning, const PartRequest& part,
          ValueId norm, StepGraph& step)
      : graph_(graph),
        optimizer_(optimizer),
        tuning_(tuning),
        part_(part),
        norm_(norm),
        step_(step),
        lr_(graph.add_value("lr", plain({1}), Role::input)),
        count_(optimizer.needs_step ? graph.add_value("step", plain({1}, DType::i64), Role::input)
                                    : kNoValue) {}

  void update(const Gradient& gradient) {
    const Value& parameter = graph_.value(gradient.of);
    step_.trained.push_back(parameter.name);
    const dist::Shard shard =
        dist::shard_of(parameter.spec.stored_elements(), part_.rank, part_.shards);
    const ValueId updated = shard.size() == 0 ? gradient.of : update(gradient, parameter, shard);
    if (part_.shards == 1) return;
    updated_.push_back(updated);
    updated_bytes_ += graph_.spec(updated).bytes();
    if (updated_bytes_ >= part_.bucket_bytes || updated_.size() == ops::kMostReduced) gather();
  }

  // What is still to be gathered.
  void gather() {
    if (updated_.empty()) return;
    const LayerScope scope(graph_, "exchange");
    ops::gather(graph_, updated_, fmt::format("gather/{}", buckets_++));
    updated_.clear();
    updated_bytes_ = 0;
  }

 private:
  ValueId update(const Gradient& gradient, const Value& parameter, const dist::Shard& shard) {
    const LayerScope scope(graph_, parameter.layer);
    const bool is_whole = part_.shards == 1;
    const Spec remembered = is_whole ? parameter.spec : plain({shard.size()});
    const Attrs elements =
        is_whole ? Attrs() : Attrs{{"first", shard.begin}, {"count", shard.size()}};
    Values in{gradient.of, gradient.value};
    for (const std::string& slot : optimizer_.slots) {
      step_.slots.push_back(slot_name(parameter.name, slot));
      in.push_back(graph_.add_value(step_.slots.back(), remembered, Role::optimizer));
    }
    in.push_back(lr_);
    if (count_) in.push_back(count_);
    in.push_back(norm_);
    Attrs attrs = optimizer_.attrs;
    for (const auto& [name, value] : elements.entries()) attrs.set(name, value);
    attrs.set("lr_factor",
              lr_factor(tuning_, parameter.layer, pattern_name(parameter.name, step_)));
    const ValueId updated = graph_.call(optimizer_.op, in, attrs, parameter.name + "/update")[0];
    if (tuning_.average == 0) return updated;
    step_.averages.push_back(
        {.copy = average_name(parameter.name), .of = parameter.name, .first = shard.begin});
    const ValueId average = graph_.add_value(step_.averages.back().copy, remembered, Role::average);
    ops::moving_average(graph_, average, updated, norm_, tuning_.average, elements,
                        parameter.name + "/average");
    return updated;
  }

  Graph& graph_;
  const OptimizerOp& optimizer_;
  const Tuning& tuning_;
  const PartRequest& part_;
  const ValueId norm_;
  StepGraph& step_;
  const ValueId lr_;
  const ValueId count_;  // of steps
  Values updated_;       // to be gathered
  std::int64_t updated_bytes_ = 0;
  int buckets_ = 0;
};

}  // namespace

void append_updates(Graph& graph, const std::vector<Gradient>& gradients,
                    const OptimizerOp& optimizer, const Tuning& tuning, const PartRequest& part,
                    ValueId norm, StepGraph* step) {
  step->slot_kinds = optimizer.slots;
  step->has_averages = tuning.average > 0;
  step->rank = part.rank;
  step->shards = part.shards;
  Updater updater(graph, optimizer, tuning, part, norm, *step);
  for (const Gradient& gradient : gradients) updater.update(gradient);
  updater.gather();
}

}  // namespace plimsoll
