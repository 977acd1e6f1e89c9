#include "step/evaluation.h"

#include "base/stopwatch.h"

namespace plimsoll {

void fill_inputs(const Batch& batch, const Normalisation& how, std::span<const float> class_weights,
                 const StepInputs& inputs, std::int64_t first, std::int64_t count) {
  const Shape& shape = inputs.image.spec.shape;
  const Size size{.height = shape[2], .width = shape[3]};
  const std::int64_t bytes = shape[1] * shape[2] * shape[3];
  const auto weight_of = [&](std::int32_t label) {
    return class_weights.empty() ? 1.0F : class_weights[static_cast<std::size_t>(label)];
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(first + i);
    normalise(batch.pixels.data() + (first + i) * bytes, size, static_cast<int>(shape[1]), how,
              inputs.image.image<float>(i));
    const std::int32_t label = batch.labels[at];
    inputs.label.at<std::int32_t>(i) = label;
    float weight = weight_of(label);
    if (inputs.other) {
      const bool mixes = !batch.other_labels.empty();
      const std::int32_t other = mixes ? batch.other_labels[at] : label;
      const float share = mixes ? batch.other_shares[at] : 0.0F;
      inputs.other->at<std::int32_t>(i) = other;
      inputs.other_share->at<float>(i) = share;
      weight = (1 - share) * weight + share * weight_of(other);
    }
    if (inputs.weight) inputs.weight->at<float>(i) = weight;
  }
}

std::optional<Evaluation> evaluate(
    Trainer& trainer, Pipeline& data, const Normalisation& how, ClassCounts* counts,
    const std::function<bool(const Evaluation& so_far, double waited)>& each) {
  Evaluation sum;
  double loss = 0;
  std::int64_t correct = 0;
  std::int64_t in_five = 0;
  double waited = 0;
  data.start(0, 0);
  while (true) {
    const Stopwatch watch;
    const std::optional<Batch> batch = data.next();
    waited += watch.seconds();
    if (!batch) break;
    const StepInputs inputs{.image = trainer.image(Purpose::evaluate, batch->count),
                            .label = trainer.label(Purpose::evaluate, batch->count)};
    fill_inputs(*batch, how, {}, inputs, 0, batch->count);
    const StepResult result = trainer.evaluate_step(batch->count);
    if (counts != nullptr)
      counts->count(trainer.logits(Purpose::evaluate, batch->count), batch->labels);
    sum.samples += batch->count;
    loss += result.loss * static_cast<double>(batch->count);
    correct += result.correct;
    in_five += result.in_five;
    const auto samples = static_cast<double>(sum.samples);
    sum.loss = loss / samples;
    sum.accuracy = static_cast<double>(correct) / samples;
    sum.top5 = static_cast<double>(in_five) / samples;
    if (!each(sum, waited)) return std::nullopt;
  }
  return sum;
}

std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last) {
  std::vector<std::int64_t> sizes;
  if (samples >= batch) sizes.push_back(batch);
  if (samples % batch != 0 && (!drop_last || sizes.empty())) sizes.push_back(samples % batch);
  return sizes;
}

}  // namespace plimsoll
