// Steps of one network: training and evaluation, whole and partial batches, over one arena.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dist/rank_place.h"
#include "dist/tree.h"
#include "exec/session.h"
#include "step/rank_exchange.h"
#include "step/shards.h"
#include "step/statistics_meeting.h"
#include "step/step_graph.h"
#include "step/step_result.h"
#include "step/weights.h"
#include "task/classification.h"

namespace plimsoll {

struct TrainerOptions {
  nn::Input input;                          // batch is the largest a step takes
  std::vector<std::int64_t> train_batches;  // sizes of the batches that will be trained on
  std::int64_t accumulate = 1;              // parts that the first of them is trained in
  dist::RankPlace place = {};               // of those that compute these parts, no more than parts
  std::int64_t bucket_bytes = std::int64_t{4} << 20;  // of what they exchange at once
  bool shard_optimizer = false;  // they share out what the optimizer remembers, and averages
  // BatchNorms take the statistics of the whole batch: a rank's parts are all computed at once.
  bool sync_statistics = false;
  std::vector<std::int64_t> evaluate_batches;  // and evaluated; may be empty
  TaskPtr task = make_classification({});
  double l2 = 0;  // times the sum of squared weights, added to the task's loss
  OptimizerOptions optimizer;
  Tuning tuning = {};
  std::uint64_t seed = 0;
  Fusion fusion = Fusion::full;
  KernelChoice kernels = {};
};

enum class Purpose : std::uint8_t { train, evaluate };

// Chooses kernels when constructed, plans in plan(), allocates in open(), then only computes. Fill
// the inputs of the phase and batch size, then call the step. Not thread-safe.
class Trainer {
 public:
  Trainer(const OpTable& ops, const NetworkFactory& network, const TrainerOptions& options);

  // Decides what becomes of forward's values; see PreparedTapes::plan.
  void plan(const NamedFates& training) { planned_ = tapes_.plan(training); }
  // The same with a plan of its tapes that was made before.
  void plan(const PlannedTapes& planned) { planned_ = planned; }
  // Maps memory and gives weights their starting values. Without a plan() before it, makes again
  // what is cheap.
  void open(const std::filesystem::path& spill_directory = {});

  TensorView image(Purpose purpose, std::int64_t batch) const {
    return session().view(tape_of(purpose, batch), "image");
  }
  // Its image part is the same for every batch size.
  const Shape& image_shape() const {
    return tapes_.graph(0).spec(tapes_.graph(0).find("image")).shape;
  }
  // Inputs before a step, results after it.
  StepTensors tensors(Purpose purpose, std::int64_t batch) const {
    return tensors(alone_[tape_of(purpose, batch)]);
  }
  const Task& task() const { return *task_; }
  TensorView logits(Purpose purpose, std::int64_t batch) const {
    return session().view(tape_of(purpose, batch), "logits");
  }

  // One update from a batch of one piece. `step` counts updates done before, `sample` samples
  // trained before: they key randomness.
  StepResult train_step(std::int64_t batch, float lr, std::int64_t step,
                        std::int64_t sample) noexcept;
  // One update from a batch in as many parts as were asked for, of which this rank computes its
  // own; `fill` puts samples [first, first + count) of the batch into the tensors it is given. The
  // result is that of these parts; the norm is that of all. Throws what `fill` throws, and
  // DataError when spilling failed; then nothing is to be saved.
  using FillPart =
      std::function<void(const StepTensors& inputs, std::int64_t first, std::int64_t count)>;
  StepResult train_batch(std::int64_t batch, float lr, std::int64_t step, std::int64_t sample,
                         const FillPart& fill);
  // What other ranks cost so far.
  struct ExchangeStatistics {
    std::int64_t bytes = 0;     // received
    double waited_seconds = 0;  // for their sums and results
  };
  ExchangeStatistics exchange_statistics() const;
  // Of an open trainer with other ranks: from the next batch on.
  void exchange_as(Exchanging mode) { exchange_->exchange_as(mode); }
  // Held beside the arena to exchange with other ranks.
  std::int64_t exchange_bytes() const { return staging_.bytes() + met_bytes_; }
  StepResult evaluate_step(std::int64_t batch) noexcept;
  // The part of train_batch() before any update, node by node: `look` sees what each wrote. Changes
  // no weight and no statistic.
  void watch_batch(std::int64_t batch, std::int64_t step, std::int64_t sample, const FillPart& fill,
                   const Session::Look& look);

  // Since it was made, since plan(), and since open().
  const PreparedTapes& tapes() const { return tapes_; }
  PreparedTapes& tapes() { return tapes_; }
  const PlannedTapes& planned() const;
  const Session& session() const;
  Session& session();
  // The training graph of the first batch size.
  const StepGraph& step_graph() const { return step_; }
  // Of an open one: who holds what its ranks share out.
  Shards shards() const { return {group_, session(), step_}; }
  // The tape of batches that are trained or evaluated in one piece.
  std::size_t tape_of(Purpose purpose, std::int64_t batch) const {
    return tape_of({purpose, Part::whole, batch});
  }

 private:
  struct TapeKey {
    Purpose purpose = Purpose::train;
    Part part = Part::whole;
    std::int64_t batch = 0;
    bool operator==(const TapeKey&) const = default;
  };
  // How a batch is cut, and what this rank does with its parts.
  struct Cut {
    dist::Parts parts;
    dist::PartRange own;
    std::vector<dist::Carry> carries;        // of its own
    dist::Holdings holdings;                 // with other ranks
    std::vector<std::size_t> together = {};  // tapes of its own, where they run at once
    std::vector<Session::Seat> seats = {};   // since open()
  };
  // What one run of a tape is about.
  struct PartRun {
    TapeKey key;
    std::int64_t first = 0;  // of its samples, in the batch
    double share = 1;
    dist::Carry carry;
    int part = 0;
    const Session::Seat* seat = nullptr;
  };
  struct Tapes;
  static std::vector<Cut> cut_batches(const TrainerOptions& options);
  static std::vector<TapeKey> wanted_tapes(const TrainerOptions& options,
                                           const std::vector<Cut>& cuts);
  static Tapes make_tapes(const OpTable& ops, const NetworkFactory& network,
                          const TrainerOptions& options, const std::vector<Cut>& cuts);
  static dist::Staging staging_for(const TrainerOptions& options, const std::vector<Cut>& cuts,
                                   const PreparedTapes& tapes);
  const Cut& cut_of(std::int64_t batch) const;
  std::size_t tape_of(const TapeKey& key) const;
  // The seat outlives what is returned.
  StepTensors tensors(const Session::Seat& seat) const;
  // Calls each(PartRun) for this rank's parts of a batch, with their inputs filled.
  template <class Each>
  void over_parts(std::int64_t batch, const FillPart& fill, Each each);
  PartRun run_of(const Cut& cut, int part) const;
  // Of a tape that runs by itself.
  PartRun run_alone(const TapeKey& key) const {
    return {.key = key, .seat = &alone_[tape_of(key)]};
  }
  void set_scalars(const PartRun& run, float lr, std::int64_t step, std::int64_t sample) noexcept;
  // This rank's parts at once; returns the norm.
  double run_together(const Cut& cut, const FillPart& fill, float lr, std::int64_t step,
                      std::int64_t sample);
  void keep_result(const PartRun& run);
  // The norm, where the tape has one; 0 elsewhere.
  double run_part(const PartRun& run, float lr, std::int64_t step, std::int64_t sample) noexcept;
  StepResult read_result(const Session::Seat& seat) const noexcept;
  // Adds what other ranks computed of the batch to part_results_.
  void gather_results(const Cut& cut);

  std::vector<Cut> cuts_;  // of the batches that are trained
  std::vector<TapeKey> keys_;
  std::vector<Session::Seat> alone_;  // of every tape
  StepGraph step_;                    // its tape has moved to the session
  int slots_ = 0;                     // of every sum
  PreparedTapes tapes_;
  dist::Staging staging_;
  std::optional<PlannedTapes> planned_;
  dist::Group* group_;
  std::unique_ptr<RankExchange> exchange_;  // outlives the session
  std::unique_ptr<StatisticsMeeting> meeting_;
  std::int64_t met_bytes_ = 0;
  std::optional<Session> session_;
  TaskPtr task_;
  std::uint64_t seed_;
  bool is_whole_;                         // batches are trained in one piece
  std::vector<PartResult> part_results_;  // of the batch trained last
  std::vector<PartResult> own_results_;   // those of every rank have as many rows
  std::vector<PartResult> all_results_;
  double results_waited_ = 0;  // seconds, for those of other ranks
};

}  // namespace plimsoll
