#include "cli/rank_bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "base/memory_usage.h"
#include "base/packed.h"
#include "base/stopwatch.h"
#include "cli/rank_share.h"
#include "dist/agreement.h"
#include "dist/link_probe.h"
#include "dist/rank_times.h"
#include "job/kernel_choice.h"
#include "job/ready.h"
#include "machine/crowding.h"
#include "machine/team.h"
#include "ops/table.h"
#include "step/synthetic_batch.h"

namespace plimsoll::cli {
namespace {

// In this order they take turns, step by step: a slow minute of the machine hits all alike.
constexpr Exchanging kModes[] = {Exchanging::overlapped, Exchanging::apart, Exchanging::behind};
constexpr std::size_t kModeCount = std::size(kModes);

// What one rank tells of itself.
struct Told {
  std::array<dist::StepTimes, kModeCount> steps;
  std::int64_t exchanged = 0;  // bytes received in a step
  std::int64_t images = 0;     // of a batch, its own
  std::int64_t peak = 0;
  std::int64_t predicted = 0;
};

std::string pack(const Told& told) {
  Packer packer;
  for (const dist::StepTimes& steps : told.steps) packer.put_all(std::span(steps));
  for (const std::int64_t value : {told.exchanged, told.images, told.peak, told.predicted})
    packer.put(value);
  return packer.bytes();
}

Told parse(std::string_view bytes, const std::string& where) {
  Unpacker unpacker(bytes, where);
  Told told;
  for (dist::StepTimes& steps : told.steps) unpacker.take_all(steps);
  for (std::int64_t* value : {&told.exchanged, &told.images, &told.peak, &told.predicted})
    *value = unpacker.take<std::int64_t>();
  unpacker.end();
  return told;
}

// What all of them make of it.
struct Found {
  std::vector<Told> ranks;
  std::array<std::vector<dist::StepTimes>, kModeCount> steps;  // by mode and rank
  std::array<double, kModeCount> rates{};                      // images a second of all
  dist::Link link;

  double efficiency(std::size_t mode) const { return rates[mode] / rates[1]; }
};

class RankBench {
 public:
  RankBench(const BenchSettings& s, dist::Group& group, const RankShare& share, int threads)
      : group_(group), batch_(s.model.input().batch), variant_(make(s, group, threads)) {
    planned_ = dist::make_on_all(&group, [&] {
      job::PlannedRun planned = plan_run(variant_, s.memory, share.budget, batch_);
      if (!planned.plan.fits) throw job::refusal(variant_.trainer, planned, {});
      return planned;
    });
    link_ = dist::measure_link(group);
    release_free_memory();
    variant_.trainer.open(s.memory.spill);
  }

  Found measure(std::int64_t steps) {
    Told told{.predicted = planned_.plan.total_bytes};
    for (std::int64_t step = -1; step < steps; ++step)
      for (std::size_t mode = 0; mode < kModeCount; ++mode) {
        const dist::StepTime time = take_step(kModes[mode]);
        // The first touches memory and code for the first time.
        if (step >= 0) told.steps[mode].push_back(time);
      }
    const Trainer::ExchangeStatistics exchanged = variant_.trainer.exchange_statistics();
    told.exchanged = exchanged.bytes / (2 * (steps + 1));  // apart there are none
    told.images = window_images_;
    told.peak = memory_usage().peak().count;
    return gather(told);
  }

 private:
  static job::Variant make(const BenchSettings& s, dist::Group& group, int threads) {
    job::TrainingSettings training;
    training.model = s.model;
    const nn::Input input = s.model.input();
    job::Variant variant{Trainer(op_table(), s.model.factory(),
                                 {.input = input,
                                  .train_batches = {input.batch},
                                  .accumulate = s.memory.accumulate,
                                  .place = dist::place_in(&group),
                                  .sync_statistics = s.memory.syncs(),
                                  .evaluate_batches = {},
                                  .task = training.task(nullptr),
                                  .optimizer = s.optimizer,
                                  .kernels = job::choose_kernels(s.kernels)}),
                         {.input_bytes = 0, .threads = threads}};
    variant.around.exchange_bytes =
        variant.trainer.exchange_bytes() + job::mpi_bytes(group.ranks());
    return variant;
  }

  // As a run does: a word of all, then the step.
  dist::StepTime take_step(Exchanging mode) {
    Trainer& trainer = variant_.trainer;
    trainer.exchange_as(mode);
    window_images_ = 0;
    double filling = 0;
    const auto fill = [&](const StepTensors& inputs, std::int64_t, std::int64_t count) {
      const Stopwatch watch;
      fill_synthetic_part(trainer, inputs, count);
      filling += watch.seconds();
      window_images_ += count;
    };
    // None has a start over others, whoever was through with the step before.
    tell_word();
    const double before = trainer.exchange_statistics().waited_seconds;
    const Stopwatch watch;
    const double waited = mode == Exchanging::apart ? 0 : tell_word();
    trainer.train_batch(batch_, 1e-3F, steps_, steps_ * batch_, fill);
    ++steps_;
    return {.seconds = watch.seconds() - filling,
            .waited = waited + trainer.exchange_statistics().waited_seconds - before};
  }

  // Seconds until all have told theirs.
  double tell_word() {
    const Stopwatch watch;
    const std::array<std::byte, 48> word{};
    words_.resize(word.size() * static_cast<std::size_t>(group_.ranks()));
    group_.all_gather(word, words_);
    return watch.seconds();
  }

  Found gather(const Told& mine) {
    Found found{.ranks = {}, .steps = {}, .link = link_};
    const std::vector<std::string> texts = group_.gather_texts(pack(mine));
    for (int rank = 0; rank < group_.ranks(); ++rank) {
      found.ranks.push_back(parse(texts[static_cast<std::size_t>(rank)], group_.name(rank)));
      for (std::size_t mode = 0; mode < kModeCount; ++mode)
        found.steps[mode].push_back(found.ranks.back().steps[mode]);
    }
    for (std::size_t mode = 0; mode < kModeCount; ++mode)
      found.rates[mode] = static_cast<double>(batch_) / dist::step_seconds(found.steps[mode]);
    // Apart each has its own speed.
    found.rates[1] = 0;
    const std::vector<dist::RankTimes> apart = dist::split_times(found.steps[1]);
    for (std::size_t rank = 0; rank < apart.size(); ++rank)
      found.rates[1] += static_cast<double>(found.ranks[rank].images) / apart[rank].seconds;
    found.link.model.spread = dist::spread_of(found.steps[0]);
    return found;
  }

  dist::Group& group_;
  const std::int64_t batch_;
  job::Variant variant_;
  job::PlannedRun planned_;
  dist::Link link_;
  std::int64_t steps_ = 0;
  std::int64_t window_images_ = 0;
  std::vector<std::byte> words_;
};

void print(const BenchSettings& s, const dist::Group& group, const Found& found, int threads) {
  const nn::Input input = s.model.input();
  fmt::print("{} batch {} in {} parts image {}x{}, {} ranks of {} thread{}: {:.2f} images/s\n",
             s.model.title(), input.batch, s.memory.accumulate, input.image.h, input.image.w,
             group.ranks(), threads, threads == 1 ? "" : "s", found.rates[0]);
  fmt::print("  {:<20}{:>10}{:>12}{:>12}{:>13}{:>13}{:>14}\n", "", "step", "compute", "exchange",
             "for others", "received", "peak memory");
  const std::vector<dist::RankTimes> times = dist::split_times(found.steps[0]);
  for (int rank = 0; rank < group.ranks(); ++rank) {
    const dist::RankTimes& time = times[static_cast<std::size_t>(rank)];
    const Told& told = found.ranks[static_cast<std::size_t>(rank)];
    fmt::print("  {:<20}{:>8.3f} s{:>10.3f} s{:>10.3f} s{:>11.3f} s{:>13}{:>14}\n",
               group.name(rank), time.seconds, time.compute, time.exchange, time.waiting,
               to_string(Bytes{told.exchanged}), to_string(Bytes{told.peak}));
  }
  fmt::print(
      "  apart, at the same time: {:.2f} images/s; together {:.1f} % of that\n"
      "  with the exchange behind backward: {:.2f} images/s, {:.1f} %\n"
      "  the link between them: --link {}\n",
      found.rates[1], 100 * found.efficiency(0), found.rates[2], 100 * found.efficiency(2),
      dist::link_text(found.link));
}

void print_json(const BenchSettings& s, const dist::Group& group, const Found& found, int threads) {
  const nn::Input input = s.model.input();
  nlohmann::ordered_json json{{"model", s.model.title()},
                              {"batch", input.batch},
                              {"parts", s.memory.accumulate},
                              {"image", fmt::format("{}x{}", input.image.h, input.image.w)},
                              {"threads", threads},
                              {"images_per_second", found.rates[0]},
                              {"step_seconds", dist::step_seconds(found.steps[0])},
                              {"apart_images_per_second", found.rates[1]},
                              {"behind_images_per_second", found.rates[2]},
                              {"efficiency", found.efficiency(0)},
                              {"efficiency_behind", found.efficiency(2)},
                              {"link",
                               {{"text", dist::link_text(found.link)},
                                {"bytes_per_second", found.link.bytes_per_second},
                                {"latency_seconds", found.link.latency},
                                {"spread", found.link.model.spread},
                                {"work_seconds_per_byte", found.link.model.work}}},
                              {"ranks", nlohmann::ordered_json::array()}};
  const std::vector<dist::RankTimes> times = dist::split_times(found.steps[0]);
  const std::vector<dist::RankTimes> apart = dist::split_times(found.steps[1]);
  for (int rank = 0; rank < group.ranks(); ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    json["ranks"].push_back({{"host", group.host(rank)},
                             {"step_seconds", times[i].seconds},
                             {"compute_seconds", times[i].compute},
                             {"exchange_seconds", times[i].exchange},
                             {"waiting_seconds", times[i].waiting},
                             {"apart_seconds", apart[i].seconds},
                             {"exchange_bytes", found.ranks[i].exchanged},
                             {"predicted_bytes", found.ranks[i].predicted},
                             {"peak_memory_bytes", found.ranks[i].peak}});
  }
  fmt::print("{}", json_text(json));
}

}  // namespace

int bench_rank(BenchSettings& s, dist::Group& group) {
  dist::do_on_all(&group, [&] { check_parts(group.ranks(), s.memory.accumulate); });
  const RankShare share =
      share_of_host(&group, s.threads, s.memory, s.common.json || s.common.is_quiet());
  const int threads = use_threads(share.threads);
  const CrowdMonitor crowding(threads);
  const Found found = RankBench(s, group, share, threads).measure(s.steps);
  if (!dist::leads(&group)) return 0;
  if (s.common.json)
    print_json(s, group, found, threads);
  else
    print(s, group, found, threads);
  return 0;
}

}  // namespace plimsoll::cli
