#include "task/classification.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/packed.h"
#include "base/text.h"
#include "draw/confusion_chart.h"
#include "ops/calls.h"
#include "task/class_counts.h"
#include "task/heads.h"

namespace plimsoll {
namespace {

constexpr const char* kCategorical = "categorical_crossentropy";
constexpr const char* kBinary = "binary_crossentropy";
constexpr const char* kSquared = "mse";

class ClassTally final : public Tally {
 public:
  ClassTally(std::int64_t classes, const std::vector<std::string>& names)
      : counts_(classes), names_(names) {}

  void clear() override { counts_.clear(); }
  void add(const StepTensors& results, const Batch& batch) override {
    counts_.count(results.at("logits"), batch.labels);
  }
  std::string evidence(const StepTensors& results, const Batch& batch) override {
    Packer packer;
    packer.put_all(
        std::span<const ClassCounts::Pair>(counts_.pairs(results.at("logits"), batch.labels)));
    return packer.bytes();
  }
  void add_evidence(std::string_view evidence) override {
    Unpacker unpacker(evidence, kEvidence);
    std::vector<ClassCounts::Pair> pairs;
    unpacker.take_all(pairs);
    unpacker.end();
    counts_.count(pairs);
  }

  ClassTable classes() const override {
    ClassTable table = class_table("most often taken for");
    for (std::size_t c = 0; c < names_.size(); ++c) {
      const auto of = static_cast<std::int64_t>(c);
      table.rows.push_back({.name = names_[c],
                            .values = {static_cast<double>(counts_.samples(of)), counts_.recall(of),
                                       counts_.precision(of)},
                            .remark = mistaken(of)});
    }
    return table;
  }

  std::vector<EvaluationPicture> pictures(const std::string& title) const override {
    const std::vector<std::int64_t>& confusion = counts_.confusion();
    const bool is_empty = std::ranges::all_of(confusion, [](auto count) { return count == 0; });
    if (is_empty || counts_.classes() != std::ssize(names_)) return {};
    return {{"confusion.svg", draw::confusion_chart_svg(title, names_, confusion)}};
  }

 private:
  std::string mistaken(std::int64_t of) const {
    if (!counts_.has_confusion()) return {};
    const std::int64_t* row = counts_.confusion().data() + of * counts_.classes();
    std::int64_t other = -1;
    for (std::int64_t k = 0; k < counts_.classes(); ++k)
      if (k != of && row[k] > 0 && (other < 0 || row[k] > row[other])) other = k;
    if (other < 0 || other >= std::ssize(names_)) return {};
    return names_[static_cast<std::size_t>(other)] + " (" + std::to_string(row[other]) + ")";
  }

  ClassCounts counts_;
  const std::vector<std::string>& names_;
};

class Classification final : public Task {
 public:
  explicit Classification(const ClassificationOptions& options) : o_(options) {}

  std::string_view name() const override { return "classification"; }

  TaskValues append(Graph& graph, const nn::Heads& heads, bool training) const override {
    const std::int64_t batch = graph.spec(heads.logits).shape[0];
    const ValueId label = graph.add_value("label", plain({batch}, DType::i32), Role::input);
    Values targets{label};
    if (training && (o_.weighted || o_.mixed))
      targets.push_back(graph.add_value("weight", plain({batch}), Role::input));
    if (training && o_.mixed) {
      targets.push_back(graph.add_value("other", plain({batch}, DType::i32), Role::input));
      targets.push_back(graph.add_value("other_share", plain({batch}), Role::input));
    }
    const HeadLoss loss = [&](ValueId logits, const std::string& layer) {
      return append_loss(graph, logits, targets, layer);
    };
    const ValueId main = append_main_loss(graph, heads, loss);
    const ValueId counts = ops::accuracy(graph, heads.logits, label, "correct");
    return {.loss = append_auxiliary_loss(graph, heads, main, loss, o_.auxiliary_weight),
            .results = {main, counts, heads.logits}};
  }

  void fill(const Batch& batch, std::int64_t first, std::int64_t count,
            const StepTensors& inputs) const override {
    const TensorView labels = inputs.at("label");
    const std::optional<TensorView> weights = inputs.find("weight");
    const std::optional<TensorView> others = inputs.find("other");
    const std::optional<TensorView> shares = inputs.find("other_share");
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(first + i);
      const std::int32_t label = batch.labels[at];
      labels.at<std::int32_t>(i) = label;
      float weight = weight_of(label);
      if (others) {
        const bool mixes = !batch.other_labels.empty();
        const std::int32_t other = mixes ? batch.other_labels[at] : label;
        const float share = mixes ? batch.other_shares[at] : 0.0F;
        others->at<std::int32_t>(i) = other;
        shares->at<float>(i) = share;
        weight = (1 - share) * weight + share * weight_of(other);
      }
      if (weights) weights->at<float>(i) = weight;
    }
  }

  // Labels go round the classes.
  void fill_synthetic(const StepTensors& inputs, std::int64_t count) const override {
    const std::int64_t classes = inputs.at("logits").spec.shape[1];
    for (std::int64_t n = 0; n < count; ++n)
      inputs.at("label").at<std::int32_t>(n) = static_cast<std::int32_t>(n % classes);
  }

  const std::vector<Metric>& metrics() const override {
    static const std::vector<Metric> kMetrics{
        {.name = "accuracy", .sum = "correct", .title = "top-1", .brief = "acc"},
        {.name = "top5",
         .sum = "in_five",
         .title = "top-5",
         .brief = "top5",
         .of_training = false}};
    return kMetrics;
  }
  void read(const StepTensors& results, std::span<double> sums) const noexcept override {
    const TensorView counts = results.at("correct");
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = static_cast<double>(counts.at<std::int64_t>(static_cast<std::int64_t>(i)));
  }

  std::unique_ptr<Tally> make_tally(const std::filesystem::path&) const override {
    return std::make_unique<ClassTally>(o_.classes, o_.class_names);
  }

  std::vector<Prediction> predict(const StepTensors& results, const Batch&, std::int64_t at,
                                  std::size_t most, bool raw) const override {
    const std::span<const float> outputs = results.row("logits", at);
    const auto largest = static_cast<double>(*std::ranges::max_element(outputs));
    double sum = 0;
    for (float value : outputs) sum += std::exp(static_cast<double>(value) - largest);
    return best_of(
        outputs, most, [&](double value) { return raw ? value : std::exp(value - largest) / sum; },
        o_.class_names);
  }

  std::string caption(const Batch& batch, std::size_t at) const override {
    return name_of(static_cast<std::size_t>(batch.labels[at]));
  }

 private:
  ValueId append_loss(Graph& graph, ValueId logits, const Values& targets,
                      const std::string& layer) const {
    if (o_.loss == kCategorical) {
      Values in{logits};
      in.insert(in.end(), targets.begin(), targets.end());
      return ops::softmax_cross_entropy(graph, in, o_.label_smoothing, layer);
    }
    const ValueId target =
        ops::one_hot(graph, targets[0], graph.spec(logits).shape[1], layer + "/target");
    return o_.loss == kBinary ? ops::sigmoid_cross_entropy(graph, logits, target, layer)
                              : ops::mean_squared_error(graph, logits, target, layer);
  }

  float weight_of(std::int32_t label) const {
    return o_.class_weights.empty() ? 1.0F : o_.class_weights[static_cast<std::size_t>(label)];
  }
  std::string name_of(std::size_t number) const {
    return number < o_.class_names.size() ? o_.class_names[number] : std::to_string(number);
  }

  ClassificationOptions o_;
};

}  // namespace

TaskPtr make_classification(const ClassificationOptions& options) {
  const std::vector<std::string> names{kCategorical, kBinary, kSquared};
  if (std::ranges::find(names, options.loss) == names.end())
    throw UsageError({.where = "--loss",
                      .got = "there is no loss '" + options.loss + "'",
                      .expected = "expected one of " + join(names, ", "),
                      .hint = did_you_mean(nearest(options.loss, names))});
  if (options.loss != kCategorical && (options.weighted || options.mixed))
    throw UsageError({.where = "--loss",
                      .got = options.loss + " with class weights or mixup",
                      .expected = "expected categorical_crossentropy"});
  return std::make_shared<Classification>(options);
}

}  // namespace plimsoll
