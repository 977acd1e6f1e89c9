#include "train/trainer.h"

#include "base/error.h"

namespace plimsoll {
namespace {

struct Planned {
  std::vector<TapeRequest> tapes;
  StepGraph step;
};

Planned make_tapes(const OpTable& ops, const NetworkFactory& network,
                   const TrainerOptions& options) {
  std::vector<TapeRequest> tapes;
  std::vector<StepGraph> steps;
  nn::Input input = options.input;
  for (std::int64_t batch : options.train_batches) {
    input.batch = batch;
    steps.push_back(
        training_graph(ops, input, network, options.loss, options.optimizer, options.fusion));
    steps.back().tape.keep_all = options.keep_all;
    tapes.push_back(std::move(steps.back().tape));
  }
  for (std::int64_t batch : options.evaluate_batches) {
    input.batch = batch;
    steps.push_back(evaluation_graph(ops, input, network, options.loss, options.fusion));
    tapes.push_back(std::move(steps.back().tape));
  }
  expect(!steps.empty(), "a trainer has something to run");
  return {std::move(tapes), std::move(steps.front())};
}

}  // namespace

Trainer::Trainer(const OpTable& ops, const NetworkFactory& network, const TrainerOptions& options)
    : step_{TapeRequest{Graph(ops)}, {}, {}, {}, {}},
      session_([&] {
        Planned planned = make_tapes(ops, network, options);
        step_ = std::move(planned.step);
        return Session(std::move(planned.tapes), options.kernels);
      }()),
      seed_(options.seed) {
  for (std::int64_t batch : options.train_batches) keys_.push_back({Phase::train, batch});
  for (std::int64_t batch : options.evaluate_batches) keys_.push_back({Phase::evaluate, batch});
}

void Trainer::open() {
  session_.open();
  initialise(session_, step_, seed_);
}

std::size_t Trainer::tape_of(Phase phase, std::int64_t batch) const {
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].phase == phase && keys_[i].batch == batch) return i;
  bug("a batch size that was not planned");
}

StepResult Trainer::read_result(std::size_t tape) const noexcept {
  StepResult result;
  result.loss = static_cast<double>(session_.view(tape, "loss").at<float>(0));
  const TensorView counts = session_.view(tape, "correct");
  result.correct = counts.at<std::int64_t>(0);
  result.in_five = counts.at<std::int64_t>(1);
  return result;
}

StepResult Trainer::train_step(std::int64_t batch, float lr, std::int64_t step,
                               std::int64_t sample) noexcept {
  const std::size_t tape = tape_of(Phase::train, batch);
  session_.view(tape, "lr").at<float>(0) = lr;
  if (session_.graph(tape).find("step")) session_.view(tape, "step").at<std::int64_t>(0) = step;
  session_.view(tape, "sample").at<std::int64_t>(0) = sample;
  session_.run(tape);
  StepResult result = read_result(tape);
  result.gradient_norm = session_.view(tape, "norm").at<double>(0);
  return result;
}

StepResult Trainer::evaluate_step(std::int64_t batch) noexcept {
  const std::size_t tape = tape_of(Phase::evaluate, batch);
  session_.run(tape);
  return read_result(tape);
}

}  // namespace plimsoll
