#include "step/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace plimsoll {

// The tapes of a trainer and what each is for. Batches that are trained in parts have one tape for
// all parts but the last and one for each size a last part has.
struct Trainer::Tapes {
  std::vector<TapeRequest> requests;
  std::vector<TapeKey> keys;
  StepGraph first;
};

namespace {

std::int64_t largest_part_of(const TrainerOptions& options) {
  if (options.train_batches.empty()) return 0;
  return (options.train_batches[0] + options.accumulate - 1) / options.accumulate;
}

}  // namespace

Trainer::Tapes Trainer::make_tapes(const OpTable& ops, const NetworkFactory& network,
                                   const TrainerOptions& options) {
  const std::int64_t largest = largest_part_of(options);
  std::vector<TapeKey> keys;
  const auto want = [&](const TapeKey& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (std::int64_t batch : options.train_batches) {
    if (batch <= largest) {
      want({Purpose::train, Part::whole, batch});
      continue;
    }
    want({Purpose::train, Part::last, (batch - 1) % largest + 1});
    want({Purpose::train, Part::early, largest});
  }
  for (std::int64_t batch : options.evaluate_batches) want({Purpose::evaluate, Part::whole, batch});
  expect(!keys.empty(), "a trainer has something to run");
  Tapes tapes{{}, keys, {.tape = TapeRequest{Graph(ops)}}};
  nn::Input input = options.input;
  for (const TapeKey& key : keys) {
    input.batch = key.batch;
    StepGraph step =
        key.purpose == Purpose::train
            ? training_graph(ops, input, network, *options.task, options.l2, options.optimizer,
                             options.tuning, options.fusion, key.part)
            : evaluation_graph(ops, input, network, *options.task, options.tuning, options.fusion);
    tapes.requests.push_back(std::move(step.tape));
    if (tapes.requests.size() == 1) tapes.first = std::move(step);
  }
  return tapes;
}

Trainer::Trainer(const OpTable& ops, const NetworkFactory& network, const TrainerOptions& options)
    : step_{.tape = TapeRequest{Graph(ops)}},
      tapes_([&] {
        Tapes tapes = make_tapes(ops, network, options);
        step_ = std::move(tapes.first);
        keys_ = std::move(tapes.keys);
        return PreparedTapes(std::move(tapes.requests), options.kernels);
      }()),
      task_(options.task),
      seed_(options.seed),
      largest_part_(largest_part_of(options)) {}

void Trainer::open(const std::filesystem::path& spill_directory) {
  if (!planned_) {
    const Problem problem = tapes_.problem(0);
    plan(name_fates(problem, problem.cheap()));
  }
  session_.emplace(*planned_, spill_directory);
  initialise(*session_, step_, seed_);
}

const PlannedTapes& Trainer::planned() const {
  expect(planned_.has_value(), "a trainer that is planned");
  return *planned_;
}

Session& Trainer::session() {
  expect(session_.has_value(), "a trainer that is open");
  return *session_;
}

const Session& Trainer::session() const {
  expect(session_.has_value(), "a trainer that is open");
  return *session_;
}

std::size_t Trainer::tape_of(const TapeKey& key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  expect(found != keys_.end(), "a batch size that was planned");
  return static_cast<std::size_t>(found - keys_.begin());
}

StepTensors Trainer::tensors(std::size_t tape) const {
  return StepTensors([this, tape](std::string_view name) {
    return tapes_.graph(tape).find(name) ? std::optional(session_->view(tape, name)) : std::nullopt;
  });
}

StepResult Trainer::read_result(std::size_t tape) const noexcept {
  StepResult result;
  result.loss = static_cast<double>(session_->view(tape, "loss").at<float>(0));
  task_->read(tensors(tape), std::span(result.sums).first(task_->metrics().size()));
  return result;
}

void Trainer::set_scalars(std::size_t tape, float lr, std::int64_t step, std::int64_t sample,
                          float share) noexcept {
  const Graph& graph = tapes_.graph(tape);
  if (graph.find("lr")) session_->view(tape, "lr").at<float>(0) = lr;
  if (graph.find("step")) session_->view(tape, "step").at<std::int64_t>(0) = step;
  if (graph.find("share")) session_->view(tape, "share").at<float>(0) = share;
  const TensorView randomness = session_->view(tape, "sample");
  randomness.at<std::int64_t>(0) = sample;
  randomness.at<std::int64_t>(1) = static_cast<std::int64_t>(seed_);
}

StepResult Trainer::run_part(const TapeKey& key, float lr, std::int64_t step, std::int64_t sample,
                             float share) noexcept {
  const std::size_t tape = tape_of(key);
  set_scalars(tape, lr, step, sample, share);
  session_->run(tape);
  StepResult result = read_result(tape);
  result.gradient_norm = session_->view(tape, "norm").at<double>(0);
  return result;
}

StepResult Trainer::train_step(std::int64_t batch, float lr, std::int64_t step,
                               std::int64_t sample) noexcept {
  return run_part({Purpose::train, Part::whole, batch}, lr, step, sample, 1);
}

void Trainer::begin_parts(std::int64_t batch) {
  if (batch <= largest_part_) return;
  for (const std::string& name : step_.sums) {
    const TensorView total = session_->resident(name);
    std::memset(total.data, 0, static_cast<std::size_t>(total.spec.bytes()));
  }
  for (const StepGraph::Copy& pair : step_.copies) {
    const TensorView copy = session_->resident(pair.copy);
    std::memcpy(copy.data, session_->resident(pair.of).data,
                static_cast<std::size_t>(copy.spec.bytes()));
  }
}

template <class Each>
void Trainer::over_parts(std::int64_t batch, const FillPart& fill, Each each) {
  begin_parts(batch);
  for (std::int64_t first = 0; first < batch; first += largest_part_) {
    const std::int64_t count = std::min(largest_part_, batch - first);
    const bool is_last = first + count == batch;
    const Part part = batch <= largest_part_ ? Part::whole : is_last ? Part::last : Part::early;
    const TapeKey key{Purpose::train, part, count};
    fill(tensors(tape_of(key)), first, count);
    each(key, first, static_cast<double>(count) / static_cast<double>(batch));
  }
}

StepResult Trainer::train_batch(std::int64_t batch, float lr, std::int64_t step,
                                std::int64_t sample, const FillPart& fill) {
  StepResult sum;
  over_parts(batch, fill, [&](const TapeKey& key, std::int64_t first, double share) {
    // One bad part makes a bad step; the last part, which would update, may not see why.
    if (!std::isfinite(sum.gradient_norm)) return;
    const StepResult result = run_part(key, lr, step, sample + first, static_cast<float>(share));
    session_->check_spill();
    sum.loss += share * result.loss;
    for (std::size_t m = 0; m < sum.sums.size(); ++m) sum.sums[m] += result.sums[m];
    sum.gradient_norm = result.gradient_norm;
  });
  return sum;
}

void Trainer::watch_batch(std::int64_t batch, std::int64_t step, std::int64_t sample,
                          const FillPart& fill, const Session::Look& look) {
  bool going = true;
  over_parts(batch, fill, [&](const TapeKey& key, std::int64_t first, double share) {
    if (!going) return;
    const std::size_t tape = tape_of(key);
    set_scalars(tape, 0, step, sample + first, static_cast<float>(share));
    session_->run_watched(tape, [&](const Node& node, std::span<const TensorView> out) {
      going = look(node, out);
      return going;
    });
    session_->check_spill();
  });
}

StepResult Trainer::evaluate_step(std::int64_t batch) noexcept {
  const std::size_t tape = tape_of(Purpose::evaluate, batch);
  session_->run(tape);
  return read_result(tape);
}

}  // namespace plimsoll
