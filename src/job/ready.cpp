#include "job/ready.h"

#include <algorithm>

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
    if (settings.place.ranks > 1)
      around.exchange_bytes = trainer.exchange_bytes() + mpi_bytes(settings.place.ranks);
    return Variant{std::move(trainer), around};
  };
  VariantMaker variants{.make = [make, own = settings.model.input().dtype](
                                    std::int64_t batch, std::int64_t accumulate,
                                    int team) { return make(batch, accumulate, team, own); },
                        .threads = threads,
                        .ranks = settings.place.ranks};
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

void require_fit(const Ready& ready, const TrainingSettings& settings, const TrainingData* data,
                 int threads, const Beside& beside) {
  if (!ready.run.plan.fits)
    throw refusal(
        ready.trainer, ready.run,
        find_levers(variants_of(settings, data, threads, beside), settings.memory, ready.run));
}

}  // namespace plimsoll::job
