#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/memory_usage.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "cli/bench_settings.h"
#include "cli/commands.h"
#include "cli/launcher.h"
#include "cli/layer_times.h"
#include "cli/rank_bench.h"
#include "job/kernel_choice.h"
#include "kernels/fma_peak.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "ops/table.h"
#include "step/synthetic_batch.h"

namespace plimsoll::cli {
namespace {

constexpr int kContestRounds = 7;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of what the peak is about; a tape has a part of the batch.
double step_flops(const Session& session, std::int64_t batch) {
  double flops = 0;
  for (const Node& node : session.graph(0).nodes())
    if (node.op->arithmetic != Arithmetic::none) flops += cost_of(session.graph(0), node).flops;
  return flops * static_cast<double>(batch) /
         static_cast<double>(session.view(0, "image").spec.shape[0]);
}

// Lets all kernels compete for every call of a step, prints who won, and writes the table.
void tune(const Trainer& trainer, const std::string& file) {
  fmt::print("{:<20} {:<11} {:>8}  {}\n", "op", "kernel", "ms", "others, ms");
  const Graph& graph = trainer.tapes().graph(0);
  const KernelTable table = job::tune_kernels(
      trainer, kContestRounds,
      [&](const Node& node, const std::vector<KernelTime>& times, const KernelTime& chosen) {
        std::string row = fmt::format("{:<20} {:<11} {:>8.3f} ", node.op->name, chosen.kernel->name,
                                      chosen.seconds * 1e3);
        for (const KernelTime& time : times)
          if (time.kernel != chosen.kernel)
            row += fmt::format(" {} {:.3f}", time.kernel->name, time.seconds * 1e3);
        fmt::print("{}   {} {}\n", row, to_string(graph.spec(node.in[0])),
                   to_string(graph.spec(node.in[1])));
      });
  write_file(file, table.text());
  fmt::print("{}: {} calls; --kernels {} uses it\n", file, table.size(), file);
}

// Of all weights and state, so that two runs can be told apart to the bit.
std::string checksum(const Session& session) {
  std::uint64_t sum = 0;
  for (const std::string& name : session.resident_names()) {
    const TensorView view = session.resident(name);
    const auto bytes = static_cast<std::size_t>(view.spec.bytes());
    sum = splitmix64(sum ^ fnv1a64({reinterpret_cast<const char*>(view.data), bytes}));
  }
  return fmt::format("{:016x}", sum);
}

int run_alone(const BenchSettings& settings) {
  const int threads = use_threads(settings.threads);
  const CrowdMonitor crowding(threads);
  const nn::Input input = settings.model.input();
  job::TrainingSettings training;
  training.model = settings.model;
  job::Variant variant{Trainer(op_table(), settings.model.factory(),
                               {.input = input,
                                .train_batches = {input.batch},
                                .accumulate = settings.memory.accumulate,
                                .sync_statistics = settings.memory.syncs(),
                                .evaluate_batches = {},
                                .task = training.task(nullptr),
                                .optimizer = settings.optimizer,
                                .kernels = job::choose_kernels(settings.kernels)}),
                       {.input_bytes = 0, .threads = threads}};
  variant.around.exchange_bytes = variant.trainer.exchange_bytes();
  if (!settings.tune.empty()) {
    tune(variant.trainer, settings.tune);
    return 0;
  }
  const job::PlannedRun planned =
      plan_run(variant, settings.memory, budget_of(settings.memory), input.batch);
  Trainer& trainer = variant.trainer;
  if (!planned.plan.fits) throw job::refusal(trainer, planned, {});
  trainer.open(settings.memory.spill);
  const bool multiplies_short = settings.model.multiplies_short();
  const double peak = kernels::measure_peak_gflops(input.lanes, multiplies_short);
  std::vector<double> seconds;
  for (std::int64_t step = -1; step < settings.steps; ++step) {
    double filling = 0;
    const Stopwatch watch;
    trainer.train_batch(input.batch, 1e-3F, step + 1, (step + 1) * input.batch,
                        [&](const StepTensors& inputs, std::int64_t, std::int64_t count) {
                          const Stopwatch fill_watch;
                          fill_synthetic_part(trainer, inputs, count);
                          filling += fill_watch.seconds();
                        });
    if (step >= 0) seconds.push_back(watch.seconds() - filling);
  }
  const double step_seconds = median(seconds);
  const double gflops = step_flops(trainer.session(), input.batch) / step_seconds * 1e-9;
  const double rate = static_cast<double>(input.batch) / step_seconds;
  const std::int64_t memory = memory_usage().peak().count;
  StepTimes times;
  if (settings.layers) {
    fill_synthetic_batch(trainer, input.batch);
    times = measure_layers(trainer);
  }
  const std::string size = fmt::format("{}x{}", input.image.h, input.image.w);
  if (!settings.common.json) {
    if (settings.layers) print_layers(times, peak);
    fmt::print(
        "{} batch {} image {} threads {}: {:.2f} images/s, {:.3f} s/step, {:.0f} GFLOP/s = {:.0f} "
        "% of the {} peak ({:.0f}), peak memory {}\n",
        settings.model.title(), input.batch, size, threads, rate, step_seconds, gflops,
        100 * gflops / peak, multiplies_short ? "bf16" : "FMA", peak, to_string(Bytes{memory}));
    return 0;
  }
  nlohmann::ordered_json json{{"model", settings.model.title()},
                              {"batch", input.batch},
                              {"image", size},
                              {"threads", threads},
                              {"isa", name_of(process_isa())},
                              {"images_per_second", rate},
                              {"step_seconds", step_seconds},
                              {"gflops", gflops},
                              {"peak_gflops", peak},
                              {"peak_share", gflops / peak},
                              {"peak_memory_bytes", memory},
                              {"predicted_bytes", planned.plan.total_bytes},
                              {"floor_bytes", planned.plan.floor_bytes},
                              {"unlimited_bytes", planned.plan.unlimited_bytes},
                              {"predicted_slowdown_percent", planned.plan.slowdown_percent},
                              {"weights_checksum", checksum(trainer.session())},
                              {"layers", nlohmann::ordered_json::array()}};
  for (const LayerTime& time : times.layers) {
    nlohmann::ordered_json layer{{"name", time.layer}};
    constexpr const char* kPasses[] = {"forward", "grad_input", "grad_weights"};
    for (std::size_t pass = 0; pass < time.passes.size(); ++pass)
      layer[kPasses[pass]] = {{"seconds", time.passes[pass].seconds},
                              {"flops", time.passes[pass].flops},
                              {"kernels", time.passes[pass].kernels}};
    layer["other_seconds"] = time.other;
    layer["again_seconds"] = time.again;
    json["layers"].push_back(layer);
  }
  fmt::print("{}", json_text(json));
  return 0;
}

void check(const BenchSettings& s) {
  s.memory.check(s.model.is_short());
  if (s.steps < 1)
    throw UsageError(
        {.where = "--steps", .got = std::to_string(s.steps), .expected = "expected at least 1"});
  if (s.memory.accumulate > 1 && (s.layers || !s.tune.empty()))
    throw UsageError(
        {.where = "--accumulate",
         .got = fmt::format("{} with {}", s.memory.accumulate, s.layers ? "--layers" : "--tune"),
         .expected = "expected a whole batch",
         .hint = "--batch of the size of a part"});
  if (s.ranks.ranks > 1 && (s.layers || !s.tune.empty()))
    throw UsageError(
        {.where = "--ranks",
         .got = fmt::format("{} with {}", s.ranks.ranks, s.layers ? "--layers" : "--tune"),
         .expected = "expected one process: kernels take the same time in any rank"});
}

int run(BenchSettings& s) {
  use_isa(s.model.isa);
  check(s);
  const auto work = [&](dist::Group* group) {
    if (group == nullptr) return run_alone(s);
    // A part a rank, unless more are asked for.
    if (s.memory.accumulate == 1) s.memory.accumulate = group->ranks();
    return bench_rank(s, *group);
  };
  return run_ranks(s.ranks, {.parts = s.ranks.ranks, .threads = s.threads}, work);
}

}  // namespace

Entry add_bench(CLI::App& command) {
  const auto settings = std::make_shared<BenchSettings>();
  add_options(command, settings->model);
  add_options(command, settings->memory);
  add_threads(command, settings->threads);
  add_kernels(command, settings->kernels);
  begin_group(command, "measurement");
  command.add_option("--optimizer", settings->optimizer.name, "sgd, rmsprop, adam or adamw")
      ->capture_default_str();
  add_shared_statistics(command, settings->memory);
  command.add_option("--steps", settings->steps, "steps to measure; the median counts")
      ->capture_default_str();
  command.add_flag("--layers", settings->layers,
                   "time, speed and kernel of every layer, pass by pass");
  command.add_option("--tune", settings->tune,
                     "let all kernels compete for every call and write who won to this file");
  settings->ranks.add_to(command);
  settings->common.add_to(command);
  command.footer(
      "Examples:\n"
      "  plimsoll bench --model inception_v3 --batch 8 --layers\n"
      "  plimsoll bench --model inception_v3 --batch 32 --tune here.txt\n"
      "  plimsoll bench --model inception_v3 --batch 16 --ranks 2 --threads 1");
  return [settings] { return run(*settings); };
}

}  // namespace plimsoll::cli
