#include "task/regression.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/calls.h"
#include "task/heads.h"

namespace plimsoll {
namespace {

// Nothing beyond means.
class NumberTally final : public Tally {
 public:
  void clear() override {}
  void add(const StepTensors&, const Batch&) override {}
  std::string evidence(const StepTensors&, const Batch&) override { return {}; }
  void add_evidence(std::string_view) override {}
  std::vector<EvaluationPicture> pictures(const std::string&) const override { return {}; }
};

class Regression final : public Task {
 public:
  explicit Regression(const RegressionOptions& options) : o_(options) {}

  std::string_view name() const override { return "regression"; }

  TaskValues append(Graph& graph, const nn::Heads& heads, bool) const override {
    const ValueId targets = graph.add_value("targets", graph.spec(heads.logits), Role::input);
    const HeadLoss loss = [&](ValueId outputs, const std::string& layer) {
      return ops::mean_squared_error(graph, outputs, targets, layer);
    };
    const ValueId main = append_main_loss(graph, heads, loss);
    const ValueId error = ops::absolute_error(graph, heads.logits, targets, "error");
    return {.loss = append_auxiliary_loss(graph, heads, main, loss, o_.auxiliary_weight),
            .results = {main, error, heads.logits}};
  }

  // A sample of other data, as predict's files are, has no numbers.
  void fill(const Batch& batch, std::int64_t first, std::int64_t count,
            const StepTensors& inputs) const override {
    const TensorView targets = inputs.at("targets");
    const auto width = static_cast<std::size_t>(targets.spec.shape[1]);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::span<const float> numbers =
          batch.source->numbers(batch.samples[static_cast<std::size_t>(first + i)]);
      float* row = targets.image<float>(i);
      for (std::size_t k = 0; k < width; ++k) row[k] = k < numbers.size() ? numbers[k] : 0.0F;
    }
  }
  void fill_synthetic(const StepTensors& step, std::int64_t count) const override {
    const TensorView targets = step.at("targets");
    for (std::int64_t n = 0; n < count; ++n)
      for (std::int64_t k = 0; k < targets.spec.shape[1]; ++k)
        targets.image<float>(n)[k] = static_cast<float>((n + k) % 5) / 5;
  }

  const std::vector<Metric>& metrics() const override {
    static const std::vector<Metric> kMetrics{{.name = "mae",
                                               .sum = "absolute_error",
                                               .title = "mean absolute error",
                                               .brief = "mae",
                                               .unit = Metric::Unit::number,
                                               .higher_is_better = false}};
    return kMetrics;
  }
  void read(const StepTensors& results, std::span<double> sums) const noexcept override {
    const auto numbers = static_cast<double>(results.at("logits").spec.shape[1]);
    sums[0] = results.at("error").at<double>(0) / numbers;
  }

  std::unique_ptr<Tally> make_tally(const std::filesystem::path&) const override {
    return std::make_unique<NumberTally>();
  }
  std::vector<Prediction> predict(const StepTensors& results, const Batch&, std::int64_t at,
                                  std::size_t most, bool) const override {
    const std::span<const float> outputs = results.row("logits", at);
    std::vector<Prediction> numbers;
    for (std::size_t k = 0; k < std::min(outputs.size(), most); ++k)
      numbers.push_back({k < o_.names.size() ? o_.names[k] : fmt::format("number {}", k + 1),
                         static_cast<double>(outputs[k])});
    return numbers;
  }
  bool predicts_shares() const override { return false; }
  std::string caption(const Batch& batch, std::size_t at) const override {
    std::string text;
    for (float number : batch.source->numbers(batch.samples[at]))
      text += (text.empty() ? "" : " ") + fmt::format("{:.4g}", number);
    return text;
  }

 private:
  RegressionOptions o_;
};

}  // namespace

TaskPtr make_regression(const RegressionOptions& options) {
  return std::make_shared<Regression>(options);
}

}  // namespace plimsoll
