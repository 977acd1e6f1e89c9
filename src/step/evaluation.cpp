#include "step/evaluation.h"

#include <algorithm>
#include <utility>

#include "base/stopwatch.h"

namespace plimsoll {

namespace {

// What no picture covers is zero behind normalisation: the mean colour, as in torchvision.
void clear_outside(const Size& extent, const Size& canvas, std::int64_t channels,
                   float* chw) noexcept {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < canvas.height; ++y) {
      float* row = chw + (c * canvas.height + y) * canvas.width;
      std::fill(row + (y < extent.height ? extent.width : 0), row + canvas.width, 0.0F);
    }
}

}  // namespace

void fill_inputs(const Batch& batch, const Normalisation& how, const Task& task,
                 const StepTensors& inputs, std::int64_t first, std::int64_t count) {
  const TensorView image = inputs.at("image");
  const Shape& shape = image.spec.shape;
  const Size size{.height = shape[2], .width = shape[3]};
  const std::int64_t bytes = shape[1] * shape[2] * shape[3];
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    normalise(batch.pixels.data() + (first + i) * bytes, size, static_cast<int>(shape[1]), how,
              image.image<float>(i));
    if (!batch.placements.empty())
      clear_outside(batch.placements[static_cast<std::size_t>(first + i)].extent, size, shape[1],
                    image.image<float>(i));
  }
  task.fill(batch, first, count, inputs);
}

Evaluator::Evaluator(Trainer& trainer, Pipeline& data, const Normalisation& how, Tally* tally,
                     Look look)
    : trainer_(trainer), data_(data), how_(how), tally_(tally), look_(std::move(look)) {
  data_.start(0, 0);
}

bool Evaluator::next() {
  const Stopwatch watch;
  const std::optional<Batch> batch = data_.next();
  waited_ += watch.seconds();
  if (!batch) {
    if (tally_ != nullptr) tally_->finish(so_far_.metrics);
    return false;
  }
  const StepTensors tensors = trainer_.tensors(Purpose::evaluate, batch->count);
  fill_inputs(*batch, how_, trainer_.task(), tensors, 0, batch->count);
  const StepResult result = trainer_.evaluate_step(batch->count);
  if (tally_ != nullptr) tally_->add(tensors, *batch);
  if (look_) look_(tensors, *batch);
  so_far_.samples += batch->count;
  loss_sum_ += result.loss * static_cast<double>(batch->count);
  const auto samples = static_cast<double>(so_far_.samples);
  so_far_.loss = loss_sum_ / samples;
  for (std::size_t m = 0; m < sums_.size(); ++m) {
    sums_[m] += result.sums[m];
    so_far_.metrics[m] = sums_[m] / samples;
  }
  return true;
}

std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last) {
  std::vector<std::int64_t> sizes;
  if (samples >= batch) sizes.push_back(batch);
  if (samples % batch != 0 && (!drop_last || sizes.empty())) sizes.push_back(samples % batch);
  return sizes;
}

}  // namespace plimsoll
