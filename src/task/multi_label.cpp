#include "task/multi_label.h"

#include <algorithm>
#include <cmath>

#include "base/packed.h"
#include "base/text.h"
#include "ops/calls.h"
#include "task/class_counts.h"
#include "task/heads.h"

namespace plimsoll {
namespace {

// What every class was found in, rightly or not.
class LabelTally final : public Tally {
 public:
  explicit LabelTally(const std::vector<std::string>& names)
      : names_(names), there_(names.size()), found_(names.size()), right_(names.size()) {}

  void clear() override {
    for (auto* counts : {&there_, &found_, &right_}) std::ranges::fill(*counts, 0);
  }
  void add(const StepTensors& results, const Batch& batch) override {
    const TensorView logits = results.at("logits");
    for (std::size_t i = 0; i < batch.samples.size(); ++i) {
      const float* row = logits.image<float>(static_cast<std::int64_t>(i));
      for (std::size_t k = 0; k < names_.size(); ++k) found_[k] += row[k] > 0;
      for (std::int32_t label : batch.source->labels(batch.samples[i])) {
        const auto k = static_cast<std::size_t>(label);
        if (k >= names_.size()) continue;
        ++there_[k];
        right_[k] += row[k] > 0;
      }
    }
  }
  std::string evidence(const StepTensors& results, const Batch& batch) override {
    LabelTally one(names_);
    one.add(results, batch);
    Packer packer;
    for (const auto* counts : {&one.there_, &one.found_, &one.right_})
      packer.put_all(std::span<const std::int64_t>(*counts));
    return packer.bytes();
  }
  void add_evidence(std::string_view evidence) override {
    Unpacker unpacker(evidence, kEvidence);
    std::vector<std::int64_t> more;
    for (auto* counts : {&there_, &found_, &right_}) {
      unpacker.take_all(more);
      if (more.size() != counts->size()) unpacker.fail("counts of other classes");
      for (std::size_t k = 0; k < more.size(); ++k) (*counts)[k] += more[k];
    }
    unpacker.end();
  }
  ClassTable classes() const override {
    ClassTable table = class_table("");
    for (std::size_t k = 0; k < names_.size(); ++k)
      table.rows.push_back(
          {.name = names_[k],
           .values = {static_cast<double>(there_[k]), share_of(right_[k], there_[k]),
                      share_of(right_[k], found_[k])},
           .remark = {}});
    return table;
  }
  std::vector<EvaluationPicture> pictures(const std::string&) const override { return {}; }

 private:
  const std::vector<std::string>& names_;
  std::vector<std::int64_t> there_, found_, right_;
};

class MultiLabel final : public Task {
 public:
  explicit MultiLabel(const MultiLabelOptions& options) : o_(options) {}

  std::string_view name() const override { return "multi-label classification"; }

  TaskValues append(Graph& graph, const nn::Heads& heads, bool) const override {
    const ValueId targets = graph.add_value("targets", graph.spec(heads.logits), Role::input);
    const HeadLoss loss = [&](ValueId logits, const std::string& layer) {
      return ops::sigmoid_cross_entropy(graph, logits, targets, layer);
    };
    const ValueId main = append_main_loss(graph, heads, loss);
    const ValueId right = ops::binary_accuracy(graph, heads.logits, targets, "right");
    return {.loss = append_auxiliary_loss(graph, heads, main, loss, o_.auxiliary_weight),
            .results = {main, right, heads.logits}};
  }

  void fill(const Batch& batch, std::int64_t first, std::int64_t count,
            const StepTensors& inputs) const override {
    const TensorView targets = inputs.at("targets");
    const std::int64_t classes = targets.spec.shape[1];
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = targets.image<float>(i);
      std::fill_n(row, classes, 0.0F);
      for (std::int32_t label :
           batch.source->labels(batch.samples[static_cast<std::size_t>(first + i)]))
        if (label >= 0 && label < classes) row[label] = 1;
    }
  }
  void fill_synthetic(const StepTensors& step, std::int64_t count) const override {
    const TensorView targets = step.at("targets");
    for (std::int64_t n = 0; n < count; ++n)
      for (std::int64_t k = 0; k < targets.spec.shape[1]; ++k)
        targets.image<float>(n)[k] = (n + k) % 3 == 0 ? 1.0F : 0.0F;
  }

  const std::vector<Metric>& metrics() const override {
    static const std::vector<Metric> kMetrics{
        {.name = "binary_accuracy", .sum = "labels_right", .title = "labels right", .brief = "acc"},
        {.name = "exact",
         .sum = "pictures_right",
         .title = "pictures with all right",
         .brief = "exact",
         .of_training = false}};
    return kMetrics;
  }
  void read(const StepTensors& results, std::span<double> sums) const noexcept override {
    const TensorView right = results.at("right");
    const auto classes = static_cast<double>(results.at("logits").spec.shape[1]);
    sums[0] = static_cast<double>(right.at<std::int64_t>(0)) / classes;
    sums[1] = static_cast<double>(right.at<std::int64_t>(1));
  }

  std::unique_ptr<Tally> make_tally(const std::filesystem::path&) const override {
    return std::make_unique<LabelTally>(o_.class_names);
  }
  std::vector<Prediction> predict(const StepTensors& results, const Batch&, std::int64_t at,
                                  std::size_t most, bool raw) const override {
    const std::span<const float> outputs = results.row("logits", at);
    return best_of(
        outputs, most, [&](double value) { return raw ? value : 1 / (1 + std::exp(-value)); },
        o_.class_names);
  }
  std::string caption(const Batch& batch, std::size_t at) const override {
    std::vector<std::string> names;
    for (std::int32_t label : batch.source->labels(batch.samples[at]))
      names.push_back(o_.class_names.at(static_cast<std::size_t>(label)));
    return join(names, " ");
  }

 private:
  MultiLabelOptions o_;
};

}  // namespace

TaskPtr make_multi_label(const MultiLabelOptions& options) {
  return std::make_shared<MultiLabel>(options);
}

}  // namespace plimsoll
