#include "step/evaluation.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/packed.h"
#include "base/stopwatch.h"

namespace plimsoll {

namespace {

// What no picture covers is zero behind normalisation: the mean colour, as in torchvision.
template <class T>
void clear_outside(const Size& extent, const Size& canvas, std::int64_t channels, T* chw) noexcept {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < canvas.height; ++y) {
      T* row = chw + (c * canvas.height + y) * canvas.width;
      std::fill(row + (y < extent.height ? extent.width : 0), row + canvas.width, T(0));
    }
}

}  // namespace

void fill_inputs(const Batch& batch, const Normalisation& how, const Task& task,
                 const StepTensors& inputs, std::int64_t first, std::int64_t count) {
  const TensorView image = inputs.at("image");
  const Shape& shape = image.spec.shape;
  const Size size{.height = shape[2], .width = shape[3]};
  const std::int64_t bytes = shape[1] * shape[2] * shape[3];
  for_element(image.spec.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>) {
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < count; ++i) {
        normalise(batch.pixels.data() + (first + i) * bytes, size, static_cast<int>(shape[1]), how,
                  image.image<T>(i));
        if (!batch.placements.empty())
          clear_outside(batch.placements[static_cast<std::size_t>(first + i)].extent, size,
                        shape[1], image.image<T>(i));
      }
    }
  });
  task.fill(batch, first, count, inputs);
}

Evaluator::Evaluator(Trainer& trainer, Pipeline& data, const Normalisation& how, Tally* tally,
                     Look look, dist::Group* group)
    : trainer_(trainer),
      data_(data),
      how_(how),
      tally_(tally),
      look_(std::move(look)),
      group_(group) {
  data_.start(0, 0);
}

std::optional<Batch> Evaluator::next_batch() {
  const Stopwatch watch;
  std::optional<Batch> batch = data_.next();
  waited_ += watch.seconds();
  return batch;
}

Evaluator::Outcome Evaluator::evaluate(const Batch& batch) {
  const StepTensors tensors = trainer_.tensors(Purpose::evaluate, batch.count);
  fill_inputs(batch, how_, trainer_.task(), tensors, 0, batch.count);
  const StepResult result = trainer_.evaluate_step(batch.count);
  if (look_) look_(tensors, batch);
  return {.count = batch.count, .loss = result.loss, .sums = result.sums};
}

void Evaluator::add(const Outcome& outcome) {
  ++batches_;
  so_far_.samples += outcome.count;
  loss_sum_ += outcome.loss * static_cast<double>(outcome.count);
  const auto samples = static_cast<double>(so_far_.samples);
  so_far_.loss = loss_sum_ / samples;
  for (std::size_t m = 0; m < sums_.size(); ++m) {
    sums_[m] += outcome.sums[m];
    so_far_.metrics[m] = sums_[m] / samples;
  }
}

bool Evaluator::next(bool asks) {
  if (group_ != nullptr) return next_of_all(asks);
  is_asked_ = asks;
  const std::optional<Batch> batch = next_batch();
  if (!batch) {
    if (tally_ != nullptr) tally_->finish(so_far_.metrics);
    return false;
  }
  const Outcome outcome = evaluate(*batch);
  if (tally_ != nullptr) tally_->add(trainer_.tensors(Purpose::evaluate, batch->count), *batch);
  add(outcome);
  return true;
}

// Every rank's pipeline goes over all batches; those of others are empty in it.
bool Evaluator::next_of_all(bool asks) {
  Outcome outcome;
  std::string evidence;
  std::string failure;
  try {
    for (int rank = 0; rank < group_->ranks(); ++rank) {
      const std::optional<Batch> batch = next_batch();
      if (!batch) break;
      if (batch->count == 0) continue;
      outcome = evaluate(*batch);
      if (tally_ != nullptr)
        evidence = tally_->evidence(trainer_.tensors(Purpose::evaluate, batch->count), *batch);
    }
  } catch (const DataError& error) {
    failure = error.what();
  }
  Packer packer;
  packer.put(outcome);
  packer.put(static_cast<std::uint8_t>(asks ? 1 : 0));
  packer.put_text(failure);
  packer.put_text(evidence);
  const std::vector<std::string> told = group_->gather_texts(packer.bytes());
  const std::int64_t before = batches_;
  is_asked_ = false;
  for (int rank = 0; rank < group_->ranks(); ++rank) {
    Unpacker unpacker(told[static_cast<std::size_t>(rank)], group_->name(rank));
    const auto found = unpacker.take<Outcome>();
    if (unpacker.take<std::uint8_t>() != 0) is_asked_ = true;
    if (const std::string_view text = unpacker.take_text(); !text.empty())
      unpacker.fail(std::string(text));
    const std::string_view counted = unpacker.take_text();
    unpacker.end();
    if (found.count <= 0) continue;
    if (tally_ != nullptr) tally_->add_evidence(counted);
    add(found);
  }
  if (batches_ > before) return true;
  if (tally_ != nullptr) tally_->finish(so_far_.metrics);
  return false;
}

WindowOfBatch dealt_batches(int rank, int ranks, std::int64_t batch) {
  return [rank, ranks, batch](std::int64_t position, std::int64_t count) {
    return BatchWindow{.first = 0, .count = position / batch % ranks == rank ? count : 0};
  };
}

std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last) {
  std::vector<std::int64_t> sizes;
  if (samples >= batch) sizes.push_back(batch);
  if (samples % batch != 0 && (!drop_last || sizes.empty())) sizes.push_back(samples % batch);
  return sizes;
}

}  // namespace plimsoll
