// What the training loop costs beside the step: records, checkpoints, progress, the watchdog.
//   cmake --build build --target loop && build/loop [MODEL] [IMAGE] [BATCH] [STEPS] [ROUNDS]
// Interleaves bare steps (the next batch, then train_batch) with the whole loop over the same
// pipeline, and prints the median of each and their ratio; and the time that the loop spends
// outside of steps and of waiting for data, which says the same with less noise.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/cpu.h"
#include "base/stopwatch.h"
#include "data/data.h"
#include "ops/table.h"
#include "run/run.h"
#include "step/evaluation.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

// What a terminal would be sent.
std::string drawn(const RunEvent& event) {
  const auto* done = std::get_if<StepDone>(&event);
  if (done == nullptr) return {};
  const Progress& p = done->progress;
  return fmt::format("{} {} {:.4f} {:.4f} {:.1f}", p.epoch, p.batch, p.loss, p.metrics[0],
                     p.images_per_second);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(const std::string& model, std::int64_t image, std::int64_t batch, std::int64_t steps,
        int rounds) {
  const int threads = std::min(usable_cores(), omp_get_max_threads());
  omp_set_num_threads(threads);
  const SourcePtr source = open_source("fashion-mnist");
  const zoo::Network& network = zoo::find_network(model);
  const nn::Input input{.batch = batch, .channels = 1, .image = image};
  Trainer trainer(op_table(), [&](nn::Builder& net) { return network.build(net, {.classes = 10}); },
                  {.input = input, .train_batches = {batch}, .evaluate_batches = {}});
  trainer.open();
  Pipeline pipeline(source,
                    {.batch = batch,
                     .image = {.height = image, .width = image},
                     .channels = 1,
                     .drop_last = true,
                     .workers = threads},
                    scan(*source, {.channels = 1}).largest);
  const RunData data{.train = pipeline, .train_samples = source->size(), .normalisation = {}};
  RunOptions options{.model = model, .epochs = 1 << 20, .batch = batch, .drop_last = true};
  options.out = std::filesystem::temp_directory_path() / "plimsoll-bench-loop";
  options.save.every_seconds = 30;
  std::filesystem::create_directories(options.out);
  std::vector<double> bare;
  std::vector<double> whole;
  std::vector<double> beside;  // percent
  for (int round = -1; round < rounds; ++round) {
    pipeline.start(0, 0);
    const Stopwatch first;
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto next = pipeline.next();
      trainer.train_batch(next->count, 1e-4F, step, step * batch,
                          [&](const StepTensors& inputs, std::int64_t at, std::int64_t count) {
                            fill_inputs(*next, {}, trainer.task(), inputs, at, count);
                          });
    }
    const double bare_seconds = first.seconds();
    options.steps = steps;
    options.lr = 1e-4;
    const Stopwatch second;
    RunReport report;
    std::size_t letters = 0;
    Run loop(trainer, data, options, {});
    while (const std::optional<RunEvent> event = loop.next()) {
      letters += drawn(*event).size();
      if (const auto* end = std::get_if<Finished>(&*event)) report = end->report;
    }
    if (round < 0 || letters == 0) continue;  // warming up
    const double inside = report.step_seconds + report.wait_seconds;
    beside.push_back(100 * (second.seconds() - inside) / inside);
    bare.push_back(bare_seconds);
    whole.push_back(second.seconds());
    fmt::print("round {}: bare {:.3f} s, loop {:.3f} s\n", round + 1, bare.back(), whole.back());
  }
  fmt::print(
      "{} {}x{} batch {}, {} steps: bare {:.3f} s, loop with records and checkpoints {:.3f} s, "
      "{:.2f} % more; outside of steps and waiting {:.2f} %\n",
      model, image, image, batch, steps, median(bare), median(whole),
      100 * (median(whole) / median(bare) - 1), median(beside));
  std::filesystem::remove_all(options.out);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  const auto number = [&](int at, int otherwise) {
    return count > at ? std::atoi(words[at]) : otherwise;
  };
  return plimsoll::run(count > 1 ? words[1] : "inception_mini", number(2, 28), number(3, 128),
                       number(4, 300), number(5, 5));
}
