// What a budget costs: training steps of the fastest plan and of the plan within a budget, walked
// in turn instruction by instruction, so that whatever else the machine does falls on both alike.
//   cmake --build build --target budget_steps
//   build/budget_steps MODEL BATCH THREADS BYTES f32|f16 STEPS
// BYTES 0 is the smallest budget. Prints one JSON object. bench/budget calls it.
#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <cstring>

#include "base/stopwatch.h"
#include "bench/planned_trainer.h"

namespace plimsoll {
namespace {

class Runner : public PlannedTrainer {
 public:
  using PlannedTrainer::PlannedTrainer;

  void begin() {
    fill();
    session().view(0, "lr").as<float>()[0] = 1e-3F;
    next_ = 0;
  }

  // Walks on until a node of the graph itself has run; false when there was none left.
  bool advance() {
    const std::vector<Instruction>& instructions = session().tape(0).instructions;
    while (next_ < instructions.size()) {
      const Instruction& instruction = instructions[next_];
      const Stopwatch watch;
      session().run_instruction(0, next_++);
      seconds_ += watch.seconds();
      if (instruction.kind == StepKind::run && !instruction.again) return true;
    }
    return false;
  }

  double take_seconds() { return std::exchange(seconds_, 0.0); }

  bool has_weights_of(const Runner& other) const {
    const Session &mine = session(), &theirs = other.session();
    for (const std::string& name : mine.resident_names()) {
      const TensorView a = mine.resident(name), b = theirs.resident(name);
      if (std::memcmp(a.data, b.data, static_cast<std::size_t>(a.spec.bytes())) != 0) return false;
    }
    return true;
  }

 private:
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
  const nn::Input input = input_of(network, batch, network.image.h);
  Runner fastest(network, input, threads, kUnlimited.count, {});
  Runner tight(network, input, threads, bytes > 0 ? bytes : fastest.plan().floor_bytes,
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
