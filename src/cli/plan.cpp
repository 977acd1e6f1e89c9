#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cache_directory.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/busy_neighbours.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/plan_picture.h"
#include "cli/plan_text.h"
#include "cli/rank_forecast.h"
#include "cli/rank_share.h"
#include "cli/reading_bar.h"
#include "dist/rank_times.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "ops/table.h"
#include "step/framework_estimate.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PlanSettings : job::TrainingSettings {
  CommonOptions common;
  ForecastOptions ranks;
  bool curve = false;
  bool measure = false;
  std::string picture;
  std::string save;
  std::string check_file;
};

// Runs the step instruction by instruction, beside as many others as ranks share the host's cores,
// and keeps the time of every kernel.
void measure_times(const PlanSettings& s, const job::TrainingData* data, int threads) {
  PlanSettings alone = s;
  alone.place = {};  // kernels of a part, without the exchange
  Trainer trainer =
      job::variants_of(alone, data, threads)(s.model.batch, s.memory.accumulate).trainer;
  trainer.open();
  Session& session = trainer.session();
  const std::vector<Instruction>& all = session.tape(0).instructions;
  const auto others = static_cast<int>(
      std::min<std::int64_t>(s.ranks.ranks_of_a_host(), usable_cores() / threads) - 1);
  const BusyNeighbours neighbours(others, [&] {
    for (std::size_t i = 0; i < all.size(); ++i) session.run_instruction(0, i);
  });
  KernelTimes times = KernelTimes::load(cache_directory(), threads);
  constexpr int kRounds = 3;
  std::vector<std::vector<double>> seconds(all.size());
  // The first round touches code and caches for the first time.
  for (int round = -1; round < kRounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Stopwatch watch;
      session.run_instruction(0, i);
      if (round >= 0) seconds[i].push_back(watch.seconds());
    }
  for (std::size_t i = 0; i < all.size(); ++i)
    times.record(session.graph(0), all[i].node.at(),
                 trainer.tapes().prepared(0, all[i].node).kernel_name(), dist::median(seconds[i]));
  times.save(cache_directory());
  fmt::print(stderr, "measured {} kernels into {}\n", times.size(), cache_directory().string());
}

void check_plan_file(const Trainer& trainer, const std::string& path) {
  const Graph& graph = trainer.tapes().graph(0);
  const Tape tape = parse_plan(read_file(path, 1_GiB), graph, path);
  if (const auto fault = find_fault(graph, tape, trainer.tapes().replay_rules(0)))
    throw DataError({.where = path,
                     .got = *fault,
                     .expected = "expected a plan that computes what the graph says"});
  fmt::print("{}: {} instructions, every operand holds what it should; arena {}\n", path,
             tape.instructions.size(), to_string(Bytes{tape.arena_bytes}));
}

struct CurvePoint {
  std::int64_t bytes;
  double slowdown;
};

std::vector<CurvePoint> curve_of(const Trainer& trainer, const job::PlannedRun& run) {
  std::vector<CurvePoint> curve;
  std::size_t at_once = 1;
  for (const auto& together : trainer.tapes().together())
    at_once = std::max(at_once, together.size());
  for (const PlanPoint& point : run.plan.frontier.points)
    curve.push_back({process_bytes(trainer.planned(), run.request.around,
                                   trainer.tapes().resident_bytes() +
                                       static_cast<std::int64_t>(at_once) * point.bytes),
                     100 * point.extra_seconds / run.plan.step_seconds});
  std::reverse(curve.begin(), curve.end());
  curve.front().bytes = run.plan.floor_bytes;  // with fewer data workers, if there are several
  return curve;
}

void print_curve(const std::vector<CurvePoint>& curve) {
  constexpr std::size_t kRows = 24;
  fmt::print("\n  {:>12}  {:>10}\n", "memory", "slower by");
  const std::size_t every = std::max<std::size_t>(1, curve.size() / kRows);
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (i % every == 0 || i + 1 == curve.size())
      fmt::print("  {:>12}  {:>8.1f} %  {}\n", to_string(Bytes{curve[i].bytes}), curve[i].slowdown,
                 std::string(static_cast<std::size_t>(std::min(60.0, curve[i].slowdown)), '#'));
}

Json share_json(const FateShare& share) {
  return {{"tensors", share.tensors}, {"bytes", share.bytes}};
}

double step_flops(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += cost_of(graph, node).flops;
  return flops;
}

Json plan_json(const PlanSettings& s, const job::Ready& ready, const FrameworkEstimate& frameworks,
               const std::vector<job::Lever>& levers, int threads) {
  const job::PlannedRun& run = ready.run;
  const nn::Input input = s.model.input();
  const Problem problem = ready.trainer.tapes().problem(0);
  const FateShares shares = shares_of(problem, run.plan.fates);
  const Usage usage = usage_of(problem, run.plan.fates);
  Json json{{"model", s.model.title()},
            {"batch", s.model.batch},
            {"image", fmt::format("{}x{}", input.image.h, input.image.w)},
            {"classes", s.model.class_count()},
            {"optimizer", s.optimizer_options().name},
            {"optimizer_shards", ready.trainer.step_graph().shards}};
  json.update(plan_summary_json(run));
  json.update(Json{
      {"arena_bytes", ready.trainer.planned().arena_bytes()},
      {"kept", share_json(shares.kept)},
      {"recomputed", share_json(shares.recomputed)},
      {"half", share_json(shares.half)},
      {"spilled", share_json(shares.spilled)},
      {"spill_file_bytes", ready.trainer.planned().spill_bytes()},
      {"extra_flops_percent", 100 * shares.extra_flops / step_flops(problem.graph())},
      {"predicted_slowdown_percent", run.plan.slowdown_percent},
      {"predicted_step_seconds", run.plan.step_seconds * (1 + run.plan.slowdown_percent / 100)},
      {"peak", {{"step", usage.step_names[usage.peak_step]}, {"tensors", Json::array()}}}});
  for (const LiveTensor& tensor : usage.at_peak)
    json["peak"]["tensors"].push_back({{"name", tensor.name},
                                       {"bytes", tensor.bytes},
                                       {"use", kUseNames[static_cast<std::size_t>(tensor.use)]}});
  if (s.model.batch_max) json["max_batch"] = s.model.batch;
  json["others_estimated"] = {{"saved_activations", frameworks.saved},
                              {"pytorch", frameworks.pytorch},
                              {"keras", frameworks.keras}};
  if (!run.plan.fits) {
    json["levers"] = Json::array();
    for (const job::Lever& lever : levers)
      json["levers"].push_back({{"option", lever.option},
                                {"floor_bytes", lever.floor_bytes},
                                {"fits", lever.floor_bytes <= run.budget.bytes},
                                {"note", lever.note}});
  }
  if (s.ranks.ranks > 1 && run.plan.fits)
    json["ranks"] = forecast_json(forecast_ranks(s.ranks, ready, s.memory.accumulate, threads));
  if (s.curve) {
    json["curve"] = Json::array();
    for (const CurvePoint& point : curve_of(ready.trainer, run))
      json["curve"].push_back({{"bytes", point.bytes}, {"slowdown_percent", point.slowdown}});
  }
  return json;
}

void write_picture(const PlanSettings& s, const job::Ready& ready) {
  const PlannedTapes& tapes = ready.trainer.planned();
  const nn::Input input = s.model.input();
  write_file(s.picture, plan_svg(usage_of(tapes.problem(0), ready.run.plan.fates),
                                 {.title = fmt::format("{}, batch {}, {}x{}", s.model.title(),
                                                       s.model.batch, input.image.h, input.image.w),
                                  .resident_bytes = tapes.resident_bytes(),
                                  .beside_bytes = ready.run.plan.total_bytes - tapes.arena_bytes(),
                                  .total_bytes = ready.run.plan.total_bytes,
                                  .budget_bytes = ready.run.budget.bytes}));
  fmt::print(stderr, "wrote {}\n", s.picture);
}

void write_scaling(const PlanSettings& s, const job::Ready& ready, int threads) {
  const std::string title = fmt::format("{} on several hosts, batch {} in {} parts",
                                        s.model.title(), s.model.batch, s.memory.accumulate);
  write_file(s.ranks.picture, scaling_picture(s.ranks, ready, s.memory.accumulate, threads, title));
  fmt::print(stderr, "wrote {}\n", s.ranks.picture);
}

void print_plan(const PlanSettings& s, const job::Ready& ready, const FrameworkEstimate& frameworks,
                int threads) {
  const nn::Input input = s.model.input();
  const job::PlannedRun& run = ready.run;
  fmt::print("{} · batch {}{} · {}x{} · {} classes · {} · {} threads\n{}\n{}\n", s.model.title(),
             s.model.batch, s.model.batch_max ? " (the largest that fits)" : "", input.image.h,
             input.image.w, s.model.class_count(), s.optimizer_options().name, threads,
             budget_text(run.budget), ledger_text(run));
  if (const std::string text = job::shard_text(ready); !text.empty()) fmt::print("{}\n", text);
  fmt::print("{}{}\n", lossy_text(s), means_text(ready.trainer, run));
  fmt::print("smallest budget {} · fastest plan {}\n", to_string(Bytes{run.plan.floor_bytes}),
             to_string(Bytes{run.plan.unlimited_bytes}));
  fmt::print("elsewhere, estimated: PyTorch eager {} · Keras {}\n\n{}",
             to_string(Bytes{frameworks.pytorch}), to_string(Bytes{frameworks.keras}),
             peak_text(ready.trainer, run));
  if (s.ranks.ranks > 1)
    fmt::print(
        "{}", forecast_text(forecast_ranks(s.ranks, ready, s.memory.accumulate, threads), s.ranks));
  if (s.curve) print_curve(curve_of(ready.trainer, run));
}

int run(PlanSettings& s) {
  use_isa(s.model.isa);
  s.ranks.check(s.memory.accumulate);
  s.place.ranks = static_cast<int>(s.ranks.ranks);
  // Ranks of a host share its cores.
  if (s.ranks.ranks > 1 && !s.threads)
    s.threads = std::max<std::int64_t>(1, usable_cores() / s.ranks.ranks_of_a_host());
  s.check_sharding();
  const int threads = use_threads(s.threads);
  job::Budget budget = budget_of(s.memory);
  if (s.ranks.ranks > 1) budget = split_budget(budget, s.ranks.ranks_of_a_host());
  std::optional<job::TrainingData> data;
  if (!s.data.empty())
    data = job::load_data(s, budget, threads, reading_bar(s.data, s.common.is_quiet()));
  const job::TrainingData* given = data ? &*data : nullptr;
  if (s.measure) measure_times(s, given, threads);
  job::Ready ready = job::make_ready_on_all(s, given, budget, threads);
  if (!s.check_file.empty()) {
    check_plan_file(ready.trainer, s.check_file);
    return 0;
  }
  const bool fits = ready.run.plan.fits;
  std::vector<job::Lever> levers;
  if (!fits) levers = job::levers_of(ready, s, given, threads);
  const FrameworkEstimate frameworks = estimate_frameworks(
      op_table(), s.model.input(), s.model.factory(),
      static_cast<std::int64_t>(optimizer_op(s.optimizer_options()).slots.size()));
  if (s.common.json)
    fmt::print("{}", json_text(plan_json(s, ready, frameworks, levers, threads)));
  else if (fits)
    print_plan(s, ready, frameworks, threads);
  if (fits && !s.picture.empty()) write_picture(s, ready);
  if (fits && !s.ranks.picture.empty()) write_scaling(s, ready, threads);
  if (fits && !s.save.empty())
    write_file(s.save, plan_text(ready.trainer.planned().tape(0), ready.trainer.tapes().graph(0)));
  if (!fits && !s.common.json) throw job::refusal(ready.trainer, ready.run, levers);
  return fits ? 0 : kDoesNotFit;
}

}  // namespace

Entry add_plan(CLI::App& command) {
  const auto s = std::make_shared<PlanSettings>();
  add_options(command, *s,
              "as for train; without it, photographs of up to 16 megapixels are assumed");
  s->ranks.add_to(command);
  s->common.add_to(command);
  command.add_flag("--curve", s->curve, "budget against slowdown, from the floor to unlimited");
  command.add_option("--picture", s->picture, "SVG of live bytes over the step");
  command.add_option("--save", s->save, "write the plan itself, as text");
  command.add_option("--check", s->check_file, "replay a saved plan with the independent checker");
  command.add_flag("--measure", s->measure,
                   "first run a step and keep the times of its kernels: better predictions");
  command.footer(
      "Examples:\n"
      "  plimsoll plan --model inception_v3 --batch 32 --memory 1.5GiB\n"
      "  plimsoll plan --model xception --memory 2GiB --batch max\n"
      "  plimsoll plan --model inception_v3 --curve --picture plan.svg\n"
      "  plimsoll plan --model inception_v3 --batch 32 --accumulate 2 --ranks 2 --hosts 2 \\\n"
      "      --link 1Gbit,50us --scaling hosts.svg");
  return [s] {
    s->check();
    return run(*s);
  };
}

}  // namespace plimsoll::cli
