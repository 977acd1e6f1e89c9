#include "job/ready.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "dist/agreement.h"
#include "ops/table.h"
#include "run/run.h"

namespace plimsoll::job {
namespace {

// A photograph, and the file of it: what is assumed without data.
constexpr std::int64_t kLargestPicture = 16'000'000;
constexpr Bytes kLargestFile = 3_MiB;

// What reading takes with so many threads; of training and validation, which take turns.
PipelineBytes reading_bytes(const TrainingSettings& settings, const TrainingData* data,
                            const nn::Input& input, int team) {
  const PipelineSettings training = settings.pipeline(input, true, team);
  if (data == nullptr)
    return pipeline_bytes(training, {.largest_encoded = kLargestFile},
                          assume_largest(kLargestPicture, static_cast<int>(input.channels)));
  const PipelineBytes bytes = pipeline_bytes(training, data->train->index(), data->largest);
  if (!data->validation) return bytes;
  return shared_bytes(bytes, pipeline_bytes(settings.pipeline(input, false, team),
                                            data->validation->index(), data->largest));
}

bool all_of_ranks(dist::Group* group, bool mine) {
  if (group == nullptr) return mine;
  std::vector<std::byte> all(static_cast<std::size_t>(group->ranks()));
  const std::byte own{mine};
  group->all_gather({&own, 1}, all);
  return std::ranges::all_of(all, [](std::byte one) { return one != std::byte{0}; });
}

}  // namespace

VariantMaker variants_of(const TrainingSettings& settings, const TrainingData* data, int threads,
                         const Beside& beside) {
  const auto make = [&settings, data, beside](std::int64_t batch, std::int64_t accumulate, int team,
                                              DType precision) {
    nn::Input input = settings.model.input();
    input.batch = batch;
    input.dtype = precision;
    TrainerOptions options{.input = input,
                           .train_batches = {batch},
                           .accumulate = accumulate,
                           .place = settings.place,
                           .shard_optimizer = settings.memory.shard_optimizer,
                           .sync_statistics = settings.memory.bn == "sync",
                           .evaluate_batches = {batch},
                           .task = settings.task(data ? data->train.get() : nullptr),
                           .l2 = settings.l2,
                           .optimizer = settings.optimizer_options(),
                           .tuning = settings.tuning(),
                           .seed = static_cast<std::uint64_t>(settings.seed),
                           .kernels = settings.kernel_choice()};
    Surroundings around = surroundings(reading_bytes(settings, data, input, team), team);
    if (data != nullptr) {
      options.train_batches = batch_sizes(data->train->size(), batch, settings.drop_last);
      options.evaluate_batches.clear();
      if (data->validation)
        options.evaluate_batches = batch_sizes(data->validation->size(), batch, false);
      const IndexBytes index = index_bytes({data->train.get(), data->validation.get()});
      around.index_bytes = index.held.count + class_bytes(data->train->class_names());
      around.opening_bytes = index.opening.count;
    }
    around.tally_bytes = options.evaluate_batches.empty() ? 0 : options.task->tally_bytes().count;
    around.batch = beside.draws_first_batch ? batch : 0;
    around.spills = !settings.memory.spill.empty();
    around.files = beside.files_in_memory;
    Trainer trainer(op_table(), settings.model.factory(), options);
    around.exchange_bytes = trainer.exchange_bytes();
    if (settings.place.ranks > 1) around.exchange_bytes += mpi_bytes(settings.place.ranks);
    return Variant{std::move(trainer), around};
  };
  VariantMaker variants{.make = [make, own = settings.model.input().dtype](
                                    std::int64_t batch, std::int64_t accumulate,
                                    int team) { return make(batch, accumulate, team, own); },
                        .threads = threads,
                        .ranks = settings.place.ranks,
                        .syncs = settings.memory.bn == "sync"};
  if (!settings.model.is_short())
    variants.make_short = [make, threads](std::int64_t batch, std::int64_t accumulate) {
      return make(batch, accumulate, threads, DType::bf16);
    };
  return variants;
}

Ready make_ready(TrainingSettings& settings, const TrainingData* data, const Budget& budget,
                 int threads, const Beside& beside) {
  const VariantMaker make = variants_of(settings, data, threads, beside);
  const std::int64_t accumulate = settings.memory.accumulate;
  if (settings.model.batch_max) {
    // The floor's fates of one batch are good for another, those of a near one are better.
    constexpr int kRounds = 3;
    std::int64_t tried = 8 * accumulate;
    std::int64_t best = 0;
    for (int round = 0; round < kRounds; ++round) {
      settings.model.batch = tried;
      Variant probe = make(tried, accumulate);
      const PlannedRun run = plan_run(probe, settings.memory, budget, tried);
      const std::int64_t found = largest_batch(make, run, accumulate);
      if (found == 0 && best == 0)
        throw refusal(probe.trainer, run, find_levers(make, settings.memory, run));
      if (found <= best) break;
      best = tried = found;
    }
    settings.model.batch = best;
  }
  Variant variant = make(settings.model.batch, accumulate);
  settings.check_patterns(variant.trainer);
  PlannedRun run = plan_run(variant, settings.memory, budget, settings.model.batch);
  return {std::move(variant.trainer), std::move(run)};
}

Ready make_ready_on_all(TrainingSettings& settings, const TrainingData* data, const Budget& budget,
                        int threads, const Beside& beside) {
  const dist::RankPlace& place = settings.place;
  const auto make = [&] { return make_ready(settings, data, budget, threads, beside); };
  std::optional<Ready> ready = dist::make_on_all(place.group, make);
  const bool may_shard =
      place.ranks > 1 && !settings.memory.shard_optimizer && settings.remembers();
  if (!may_shard || all_of_ranks(place.group, ready->run.plan.fits)) return std::move(*ready);
  const std::int64_t unsharded = ready->run.plan.floor_bytes;
  ready.reset();
  settings.memory.shard_optimizer = true;
  ready = dist::make_on_all(place.group, make);
  ready->unsharded_bytes = unsharded;
  return std::move(*ready);
}

std::string shard_text(const Ready& ready) {
  const StepGraph& step = ready.trainer.step_graph();
  if (step.shards == 1) return {};
  return fmt::format(
      "what the optimizer remembers is shared out over {} ranks{}", step.shards,
      ready.unsharded_bytes == 0
          ? ""
          : fmt::format(": without --shard-optimizer each would need {}, which the budget does not "
                        "have",
                        to_string(Bytes{ready.unsharded_bytes})));
}

std::vector<Lever> levers_of(const Ready& ready, const TrainingSettings& settings,
                             const TrainingData* data, int threads, const Beside& beside) {
  std::vector<Lever> levers =
      find_levers(variants_of(settings, data, threads, beside), settings.memory, ready.run);
  if (ready.unsharded_bytes > 0)
    levers.insert(levers.begin(), {"--shard-optimizer", ready.run.plan.floor_bytes,
                                   fmt::format("lossless, and taken already: without it {}",
                                               to_string(Bytes{ready.unsharded_bytes}))});
  return levers;
}

void require_fit(const Ready& ready, const TrainingSettings& settings, const TrainingData* data,
                 int threads, const Beside& beside) {
  if (!ready.run.plan.fits)
    throw refusal(ready.trainer, ready.run, levers_of(ready, settings, data, threads, beside));
}

}  // namespace plimsoll::job
