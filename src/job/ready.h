// From settings and data to a planned trainer.
#pragma once

#include "job/levers.h"
#include "job/training_data.h"
#include "job/training_settings.h"

namespace plimsoll::job {

// What else a run will hold, as its ledger counts it.
struct Beside {
  bool draws_first_batch = true;  // as runs with a directory do
  RunFiles files_in_memory;       // what a run writes, where that is memory
};

// Of Open MPI in a rank: its code as far as it is touched, its tables, the segment that ranks of a
// host share, and the thread that carries messages. Version 4.1.4 was measured to take 8 to 10 MiB
// with one peer and 10 to 12 with 2 to 7.
constexpr std::int64_t mpi_bytes(int ranks) { return std::int64_t{ranks == 2 ? 10 : 12} << 20; }

// Trainers of this network and data. Without data: one batch size, trained and evaluated, and
// photographs of 16 megapixels. Settings and data must outlive what is returned.
VariantMaker variants_of(const TrainingSettings& settings, const TrainingData* data, int threads,
                         const Beside& beside = {});

// The trainer and its plan, which may not fit.
struct Ready {
  Trainer trainer;
  PlannedRun run;
  // The smallest budget without --shard-optimizer, where that was not asked for and taken.
  std::int64_t unsharded_bytes = 0;
};
// The largest batch, where that was asked for, is put into settings.model.batch.
Ready make_ready(TrainingSettings& settings, const TrainingData* data, const Budget& budget,
                 int threads, const Beside& beside = {});

// The same by all ranks, each within its own budget: where one does not fit, all share out what the
// optimizer remembers, which changes no bit, and settings.memory says so.
Ready make_ready_on_all(TrainingSettings& settings, const TrainingData* data, const Budget& budget,
                        int threads, const Beside& beside = {});
// Who remembers what of the optimizer, for people; empty where ranks do not share that out.
std::string shard_text(const Ready& ready);

// What would help a plan that does not fit, and what was taken already.
std::vector<Lever> levers_of(const Ready& ready, const TrainingSettings& settings,
                             const TrainingData* data, int threads, const Beside& beside = {});

// Throws the refusal, with levers, of a plan that does not fit.
void require_fit(const Ready& ready, const TrainingSettings& settings, const TrainingData* data,
                 int threads, const Beside& beside = {});

}  // namespace plimsoll::job
