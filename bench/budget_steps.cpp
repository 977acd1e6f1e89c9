// What a budget costs: training steps of the fastest plan and of the plan within a budget, walked
// in turn instruction by instruction, so that whatever else the machine does falls on both alike.
//   cmake --build build --target budget_steps
//   build/budget_steps MODEL BATCH THREADS BYTES f32|f16 STEPS
// BYTES 0 is the smallest budget. Prints one JSON object. bench/budget calls it.
#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <cstring>

#include "base/cache_directory.h"
#include "base/stopwatch.h"
#include "exec/kernel_times.h"
#include "ops/table.h"
#include "train/budget.h"
#include "train/synthetic_batch.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

class Runner {
 public:
  Runner(const zoo::Network& network, std::int64_t batch, int threads, std::int64_t bytes,
         Means means)
      : batch_(batch),
        trainer_(op_table(),
                 [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
                 {.input = {.batch = batch, .channels = network.channels, .image = network.image},
                  .train_batches = {batch},
                  .evaluate_batches = {},
                  .loss = {},
                  .optimizer = {}}) {
    trainer_.session().set_times(KernelTimes::load(cache_directory(), threads));
    plan_ = plan_within(trainer_.session(), {.bytes = bytes,
                                             .means = means,
                                             .around = {.input_bytes = 0, .threads = threads},
                                             .cache = cache_directory()});
    trainer_.open();
  }

  const RunPlan& plan() const { return plan_; }

  void train(std::int64_t step) {
    fill();
    trainer_.train_step(batch_, 1e-3F, step, step * batch_);
  }

  void begin() {
    fill();
    next_ = 0;
  }

  // Walks on until a node of the graph itself has run; false when there was none left.
  bool advance() {
    const std::vector<Instruction>& instructions = trainer_.session().tape(0).instructions;
    while (next_ < instructions.size()) {
      const Instruction& instruction = instructions[next_];
      const Stopwatch watch;
      trainer_.session().run_instruction(0, next_++);
      seconds_ += watch.seconds();
      if (instruction.kind == StepKind::run && !instruction.again) return true;
    }
    return false;
  }

  double take_seconds() { return std::exchange(seconds_, 0.0); }

  bool has_weights_of(const Runner& other) const {
    const Session &mine = trainer_.session(), &theirs = other.trainer_.session();
    for (const std::string& name : mine.resident_names()) {
      const TensorView a = mine.resident(name), b = theirs.resident(name);
      if (std::memcmp(a.data, b.data, static_cast<std::size_t>(a.spec.bytes())) != 0) return false;
    }
    return true;
  }

 private:
  void fill() {
    fill_synthetic_batch(trainer_, batch_);
    trainer_.session().view(0, "lr").as<float>()[0] = 1e-3F;
  }

  std::int64_t batch_;
  Trainer trainer_;
  RunPlan plan_;
  std::size_t next_ = 0;
  double seconds_ = 0;
};

int run(char** words) {
  const zoo::Network& network = zoo::find_network(words[1]);
  const std::int64_t batch = std::atoll(words[2]);
  const int threads = std::atoi(words[3]);
  const std::int64_t bytes = std::atoll(words[4]);
  const bool half = std::strcmp(words[5], "f16") == 0;
  omp_set_num_threads(threads);
  Runner fastest(network, batch, threads, kUnlimited.count, {});
  Runner tight(network, batch, threads, bytes > 0 ? bytes : fastest.plan().floor_bytes,
               {.half = half});
  fastest.train(0);
  tight.train(0);
  const bool same = tight.has_weights_of(fastest);
  double whole = 0, within = 0;
  std::string steps;
  for (int step = 0; step < std::atoi(words[6]); ++step) {
    fastest.begin();
    tight.begin();
    for (bool more = true; more;) {
      more = fastest.advance();
      more = tight.advance() || more;
    }
    const double a = fastest.take_seconds(), b = tight.take_seconds();
    whole += a;
    within += b;
    steps += fmt::format("{}[{:.3f}, {:.3f}]", steps.empty() ? "" : ", ", a, b);
  }
  const RunPlan& plan = tight.plan();
  fmt::print(
      "{{\"fits\": {}, \"predicted_bytes\": {}, \"fastest_bytes\": {}, "
      "\"predicted_slowdown_percent\": {:.3f}, \"slowdown_percent\": {:.3f}, "
      "\"same_weights\": {}, \"step_seconds\": [{}]}}\n",
      plan.fits, plan.total_bytes, plan.unlimited_bytes, plan.slowdown_percent,
      100 * (within / whole - 1), same, steps);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  if (count != 7) {
    fmt::print(stderr, "budget_steps MODEL BATCH THREADS BYTES f32|f16 STEPS\n");
    return 2;
  }
  return plimsoll::run(words);
}
