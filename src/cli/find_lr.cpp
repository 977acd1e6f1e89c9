#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/memory_usage.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/rank_share.h"
#include "cli/reading_bar.h"
#include "dist/agreement.h"
#include "draw/draw.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "run/checkpoint.h"
#include "run/rate_sweep.h"
#include "run/run_ranks.h"

namespace plimsoll::cli {
namespace {

struct FindLrSettings : job::TrainingSettings {
  CommonOptions common;
  SweepOptions sweep;
  std::string grid;
  std::string out = "find-lr";
  RankOptions ranks;
};

std::vector<double> parse_grid(const std::string& text) {
  std::vector<double> rates;
  for (std::string_view part : split(text, ',')) {
    part = trim(part);
    double rate = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), rate);
    if (error != std::errc() || end != part.data() + part.size() || !(rate > 0 && rate < 1e9))
      throw UsageError({.where = "--grid",
                        .got = "'" + std::string(part) + "'",
                        .expected = "expected positive rates separated by commas"});
    rates.push_back(rate);
  }
  return rates;
}

std::string csv_of(const std::vector<RateLoss>& curve) {
  std::string text = "rate,loss,smoothed\n";
  for (const RateLoss& point : curve)
    text += fmt::format("{:.6g},{:.6g},{:.6g}\n", point.rate, point.loss, point.smoothed);
  return text;
}

// What a sweep reads: nothing is validated.
job::TrainingData training_data(FindLrSettings& s, const job::Budget& budget, int threads) {
  job::TrainingData data = job::load_data(
      s, budget, threads, reading_bar(s.data, s.common.is_quiet() || !s.place.leads()));
  data.validation = nullptr;
  return data;
}

// A trainer with its data, whose weights go back to where they began.
class Bench {
 public:
  Bench(FindLrSettings& s, const job::Budget& budget, int threads)
      : s_(s),
        data_(dist::make_on_all(s.place.group, [&] { return training_data(s, budget, threads); })),
        ready_(job::make_ready_on_all(s, &data_, budget, threads, kBeside)) {
    dist::do_on_all(s.place.group, [&] { job::require_fit(ready_, s, &data_, threads, kBeside); });
    const nn::Input input = s.model.input();
    ready_.trainer.open(s.memory.spill);
    check_held(ready_.run.plan, Bytes{budget.bytes}, budget.bound_by, memory_usage().now());
    const int workers = ready_.run.plan.workers;
    PipelineSettings reading = s.pipeline(input, true, workers);
    reading.on_bad = print_left_out;
    pipeline_.emplace(data_.train, reading, job::pipeline_memory(s, data_, input, workers));
    restore();
  }

  void restore() {
    Trainer& trainer = ready_.trainer;
    initialise(trainer.session(), trainer.step_graph(), static_cast<std::uint64_t>(s_.seed));
    if (s_.weights.empty()) return;
    dist::do_on_all(s_.place.group, [&] {
      trainer.shards().lead(
          [&] { job::begin_with(s_.weights, {.by_name = s_.weights_by_name}, trainer); });
    });
    share_tensors(s_.place.group, trainer);
  }
  RunData data() {
    return {.train = *pipeline_,
            .train_samples = data_.train->size(),
            .normalisation = s_.normalisation()};
  }
  Trainer& trainer() { return ready_.trainer; }
  std::int64_t predicted_bytes() const { return ready_.run.plan.total_bytes; }

 private:
  FindLrSettings& s_;
  // A sweep has no run directory.
  static constexpr job::Beside kBeside{.draws_first_batch = false};

  job::TrainingData data_;
  job::Ready ready_;
  std::optional<Pipeline> pipeline_;
};

// A step's rate by --lr: detectors' are for so many images a step.
double rate_factor(const FindLrSettings& s) {
  const std::int64_t per = s.model.network().recipe.lr_batch;
  return per > 0 ? static_cast<double>(s.model.batch) / static_cast<double>(per) : 1;
}

int run_sweep(const FindLrSettings& s, Bench& bench, bool quiet) {
  std::vector<RateLoss> curve;
  const double factor = rate_factor(s);
  SweepOptions sweep = s.sweep;
  sweep.lowest *= factor;
  sweep.highest *= factor;
  {
    PhaseBar bar("sweeping", quiet);
    const Stopwatch watch;
    curve = sweep_rates(
        bench.trainer(), bench.data(), sweep, [&](std::int64_t step, const RateLoss& now) {
          bar.show(step, s.sweep.steps, watch.seconds(),
                   fmt::format("lr {:.2g} · loss {:.4f}", now.rate / factor, now.smoothed));
          return true;
        });
    bench.restore();
  }
  if (!s.place.leads()) return 0;
  for (RateLoss& point : curve) point.rate /= factor;
  const RateSuggestion suggestion = suggest_rate(curve);
  make_directories(s.out);
  write_file(std::filesystem::path(s.out) / "curve.csv", csv_of(curve));
  std::vector<draw::RatePoint> points;
  for (const RateLoss& point : curve) points.push_back({point.rate, point.loss, point.smoothed});
  write_file(std::filesystem::path(s.out) / "curve.svg",
             draw::learning_rate_picture(s.model.title() + " on " + s.data, points, suggestion.rate,
                                         suggestion.reason));
  if (s.common.json) {
    nlohmann::ordered_json json;
    json["suggestion"] = nullptr;
    if (suggestion.rate) json["suggestion"] = *suggestion.rate;
    json["reason"] = suggestion.reason;
    json["curve"] = nlohmann::ordered_json::array();
    for (const RateLoss& point : curve)
      json["curve"].push_back(
          {{"rate", point.rate}, {"loss", point.loss}, {"smoothed", point.smoothed}});
    add_memory(json, bench.predicted_bytes());
    fmt::print("{}", json_text(json));
  } else {
    if (suggestion.rate)
      fmt::print("--lr {:.2g}: {}\n", *suggestion.rate, suggestion.reason);
    else
      fmt::print("no suggestion: {}\n", suggestion.reason);
    fmt::print("{} has the curve: curve.svg, curve.csv\n{}\n", s.out,
               memory_text(bench.predicted_bytes()));
  }
  return suggestion.rate ? 0 : 1;
}

int run_grid(const FindLrSettings& s, Bench& bench, const std::vector<double>& rates, bool quiet) {
  std::vector<std::vector<RateLoss>> runs;
  for (double rate : rates) {
    PhaseBar bar(fmt::format("lr {:g}", rate), quiet);
    const Stopwatch watch;
    runs.push_back(try_rate(bench.trainer(), bench.data(), rate * rate_factor(s), s.sweep.steps,
                            [&](std::int64_t step, const RateLoss& now) {
                              bar.show(step, s.sweep.steps, watch.seconds(),
                                       fmt::format("loss {:.4f}", now.smoothed));
                              return true;
                            }));
    bench.restore();
  }
  if (!s.place.leads()) return 0;
  std::size_t best = rates.size();
  const auto is_whole = [&](std::size_t i) { return std::ssize(runs[i]) == s.sweep.steps; };
  for (std::size_t i = 0; i < rates.size(); ++i)
    if (is_whole(i) &&
        (best == rates.size() || runs[i].back().smoothed < runs[best].back().smoothed))
      best = i;
  make_directories(s.out);
  std::string csv = "rate,step,loss,smoothed\n";
  for (std::size_t i = 0; i < rates.size(); ++i)
    for (std::size_t k = 0; k < runs[i].size(); ++k)
      csv += fmt::format("{:g},{},{:.6g},{:.6g}\n", rates[i], k + 1, runs[i][k].loss,
                         runs[i][k].smoothed);
  write_file(std::filesystem::path(s.out) / "grid.csv", csv);
  draw::LineChart chart{.title = s.model.title() + " on " + s.data,
                        .subtitle = "short runs from the same weights, by learning rate",
                        .x_name = "step",
                        .panels = {{.title = "smoothed loss"}}};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    draw::Series series{.name = fmt::format("{:g}", rates[i])};
    for (std::size_t k = 0; k < runs[i].size(); ++k)
      series.points.push_back({static_cast<double>(k + 1), runs[i][k].smoothed});
    chart.panels[0].series.push_back(std::move(series));
  }
  write_file(std::filesystem::path(s.out) / "grid.svg", draw::line_chart_svg(chart));
  if (s.common.json) {
    nlohmann::ordered_json json;
    json["suggestion"] = nullptr;
    if (best < rates.size()) json["suggestion"] = rates[best];
    json["reason"] = "the lowest smoothed loss after " + std::to_string(s.sweep.steps) + " steps";
    json["curve"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < rates.size(); ++i)
      json["curve"].push_back(
          {{"rate", rates[i]},
           {"steps", runs[i].size()},
           {"smoothed", runs[i].empty() ? nlohmann::ordered_json(nullptr)
                                        : nlohmann::ordered_json(runs[i].back().smoothed)}});
    add_memory(json, bench.predicted_bytes());
    fmt::print("{}", json_text(json));
  } else {
    fmt::print("{:>10} {:>12} {:>12}\n", "rate", "first loss", "last loss");
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const std::string last = is_whole(i)
                                   ? fmt::format("{:.4f}", runs[i].back().smoothed)
                                   : fmt::format("not finite after {} steps", runs[i].size());
      fmt::print("{:>10g} {:>12} {:>12}{}\n", rates[i],
                 runs[i].empty() ? "" : fmt::format("{:.4f}", runs[i][0].loss), last,
                 i == best ? "  <- lowest" : "");
    }
    fmt::print("{} steps each; {} has the curves: grid.svg, grid.csv\n{}\n", s.sweep.steps, s.out,
               memory_text(bench.predicted_bytes()));
  }
  return best < rates.size() ? 0 : 1;
}

void check(const FindLrSettings& s) {
  const auto positive = [](double value, const char* option) {
    if (!(value > 0 && value < 1e9))
      throw UsageError({.where = option,
                        .got = fmt::format("{:g}", value),
                        .expected = "expected a positive number"});
  };
  positive(s.sweep.lowest, "--from");
  positive(s.sweep.highest, "--to");
  if (s.sweep.steps < 20 || s.sweep.lowest >= s.sweep.highest)
    throw UsageError({.where = "--steps",
                      .got = fmt::format("{} steps from {:g} to {:g}", s.sweep.steps,
                                         s.sweep.lowest, s.sweep.highest),
                      .expected = "expected at least 20 steps from a lower to a higher rate"});
}

int run(FindLrSettings& s, dist::Group* group) {
  s.place = dist::place_in(group);
  check_parts(s.place.ranks, s.memory.accumulate);
  s.check_sharding();
  std::vector<double> rates;
  if (!s.grid.empty()) rates = parse_grid(s.grid);
  const bool quiet = s.common.is_quiet() || !s.place.leads();
  const RankShare share = share_of_host(group, s.threads, s.memory, quiet);
  const int threads = use_threads(share.threads);
  const CrowdMonitor crowding(threads);
  Bench bench(s, share.budget, threads);
  return rates.empty() ? run_sweep(s, bench, quiet) : run_grid(s, bench, rates, quiet);
}

}  // namespace

Entry add_find_lr(CLI::App& command) {
  const auto s = std::make_shared<FindLrSettings>();
  s->model.model = "inception_mini";
  add_options(command, *s, "as for train");
  command.get_option("--data")->required();
  begin_group(command, "sweep");
  command.add_option("--from", s->sweep.lowest, "lowest rate")->capture_default_str();
  command.add_option("--to", s->sweep.highest, "highest rate")->capture_default_str();
  command.add_option("--steps", s->sweep.steps, "of the sweep, or of each rate of the grid")
      ->capture_default_str();
  command.add_option("--grid", s->grid, "short runs at these rates instead: 1e-3,1e-4,1e-5");
  add_weights(command, *s);
  command.add_option("--out", s->out, "folder for pictures and tables")->capture_default_str();
  s->ranks.add_to(command);
  s->common.add_to(command);
  command.footer(
      "Examples:\n"
      "  plimsoll find-lr fashion-mnist --model inception_mini --batch 128\n"
      "  plimsoll find-lr photos/ --model xception --batch 8 --grid 1e-1,1e-2,1e-3 --steps 50");
  return [s] {
    use_isa(s->model.isa);
    s->check();
    s->settle_normalise();
    check(*s);
    return run_ranks(s->ranks, {.parts = s->memory.accumulate, .threads = s->threads},
                     [&](dist::Group* group) { return run(*s, group); });
  };
}

}  // namespace plimsoll::cli
