#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/memory_usage.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "kernels/fma_peak.h"
#include "machine/crowding.h"
#include "machine/team.h"
#include "ops/table.h"
#include "step/synthetic_batch.h"

namespace plimsoll::cli {
namespace {

struct Settings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  OptimizerOptions optimizer;
  std::int64_t steps = 5;
  bool layers = false;
  job::MemorySettings memory;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What one layer costs in a step, by the nodes that belong to it.
struct LayerTime {
  std::string layer;
  std::string kernels;
  double forward = 0, backward = 0, again = 0;  // seconds
  double flops = 0;
};

// Of what the peak is about.
double step_flops(const Session& session) {
  double flops = 0;
  for (const Node& node : session.graph(0).nodes())
    if (node.op->is_arithmetic) flops += cost_of(session.graph(0), node).flops;
  return flops;
}

// Runs one step instruction by instruction, with a clock between.
std::vector<LayerTime> measure_layers(Session& session) {
  const Graph& graph = session.graph(0);
  std::vector<LayerTime> times;
  std::map<std::string, std::size_t> index;
  const std::vector<Instruction>& instructions = session.tape(0).instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Stopwatch watch;
    session.run_instruction(0, i);
    const double seconds = watch.seconds();
    const bool runs = instructions[i].kind == StepKind::run;
    const std::string& layer =
        runs ? graph.node(instructions[i].node).layer : graph.layer_of(instructions[i].value);
    const auto [at, is_new] = index.try_emplace(layer, times.size());
    if (is_new) times.push_back({.layer = layer});
    LayerTime& time = times[at->second];
    if (!runs) {
      time.again += seconds;
      continue;
    }
    const Node& node = graph.node(instructions[i].node);
    const bool backward = node.phase >= Phase::backward;
    (instructions[i].again ? time.again : backward ? time.backward : time.forward) += seconds;
    if (node.op->is_arithmetic) time.flops += cost_of(graph, node).flops;
    const std::string kernel(session.prepared(0, instructions[i].node).kernel_name());
    if (node.op->is_arithmetic && time.kernels.find(kernel) == std::string::npos)
      time.kernels += (time.kernels.empty() ? "" : ",") + kernel;
  }
  return times;
}

void print_layers(const std::vector<LayerTime>& times) {
  fmt::print("{:<36} {:>9} {:>9} {:>9} {:>8}  {}\n", "layer", "fwd ms", "bwd ms", "again ms",
             "GFLOP/s", "kernels");
  for (const LayerTime& time : times) {
    const double total = time.forward + time.backward + time.again;
    const std::string rate = time.flops > 0 ? fmt::format("{:.0f}", time.flops / total * 1e-9) : "";
    const bool slow = time.kernels.find("ref") != std::string::npos;
    fmt::print("{:<36} {:>9.2f} {:>9.2f} {:>9.2f} {:>8}  {}{}\n", time.layer, time.forward * 1e3,
               time.backward * 1e3, time.again * 1e3, rate, time.kernels,
               slow ? "  <- slow reference path" : "");
  }
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

int run(const Settings& settings) {
  settings.memory.check();
  if (settings.steps < 1)
    throw UsageError({.where = "--steps",
                      .got = std::to_string(settings.steps),
                      .expected = "expected at least 1"});
  const int threads = use_threads(settings.threads);
  const CrowdMonitor crowding(threads);
  const nn::Input input = settings.model.input();
  job::Variant variant{Trainer(op_table(), settings.model.factory(),
                               {.input = input,
                                .train_batches = {input.batch},
                                .evaluate_batches = {},
                                .optimizer = settings.optimizer}),
                       {.input_bytes = 0, .threads = threads}};
  const job::PlannedRun planned =
      plan_run(variant, settings.memory, budget_of(settings.memory), input.batch);
  Trainer& trainer = variant.trainer;
  if (!planned.plan.fits) throw job::refusal(trainer, planned, {});
  trainer.open(settings.memory.spill);
  const double peak = kernels::measure_fma_peak_gflops();
  std::vector<double> seconds;
  for (std::int64_t step = -1; step < settings.steps; ++step) {
    fill_synthetic_batch(trainer, input.batch);
    const Stopwatch watch;
    trainer.train_step(input.batch, 1e-3F, step + 1, (step + 1) * input.batch);
    if (step >= 0) seconds.push_back(watch.seconds());
  }
  const double step_seconds = median(seconds);
  const double gflops = step_flops(trainer.session()) / step_seconds * 1e-9;
  const double rate = static_cast<double>(input.batch) / step_seconds;
  const std::int64_t memory = memory_usage().peak().count;
  std::vector<LayerTime> times;
  if (settings.layers) {
    fill_synthetic_batch(trainer, input.batch);
    times = measure_layers(trainer.session());
  }
  const std::string size = fmt::format("{}x{}", input.image.h, input.image.w);
  if (!settings.common.json) {
    if (settings.layers) print_layers(times);
    fmt::print(
        "{} batch {} image {} threads {}: {:.2f} images/s, {:.3f} s/step, {:.0f} GFLOP/s = {:.0f} "
        "% of the "
        "FMA peak ({:.0f}), peak memory {}\n",
        settings.model.title(), input.batch, size, threads, rate, step_seconds, gflops,
        100 * gflops / peak, peak, to_string(Bytes{memory}));
    return 0;
  }
  nlohmann::ordered_json json{{"model", settings.model.title()},
                              {"batch", input.batch},
                              {"image", size},
                              {"threads", threads},
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
  for (const LayerTime& time : times)
    json["layers"].push_back({{"name", time.layer},
                              {"forward_seconds", time.forward},
                              {"backward_seconds", time.backward},
                              {"again_seconds", time.again},
                              {"flops", time.flops},
                              {"kernels", time.kernels}});
  fmt::print("{}", json_text(json));
  return 0;
}

}  // namespace

Entry add_bench(CLI::App& command) {
  const auto settings = std::make_shared<Settings>();
  add_options(command, settings->model);
  add_options(command, settings->memory);
  add_threads(command, settings->threads);
  begin_group(command, "measurement");
  command.add_option("--optimizer", settings->optimizer.name, "sgd, rmsprop, adam or adamw")
      ->capture_default_str();
  command.add_option("--steps", settings->steps, "steps to measure; the median counts")
      ->capture_default_str();
  command.add_flag("--layers", settings->layers, "a table per layer");
  settings->common.add_to(command);
  command.footer("Example: plimsoll bench --model inception_v3 --batch 8 --layers");
  return [settings] { return run(*settings); };
}

}  // namespace plimsoll::cli
