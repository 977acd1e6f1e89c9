// What a network is trained for: what a step is fed beside its image, what it loses and counts, and
// what an evaluation makes of that. A step, a run and its records know tasks by this interface
// alone.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "boxes/box.h"
#include "data/batch/pipeline.h"
#include "graph/graph.h"
#include "nn/nn.h"

namespace plimsoll {

// A number that a task reports beside its loss: the mean over samples of what its steps count.
struct Metric {
  enum class Unit : std::uint8_t { share, number };

  std::string name;   // of records: "accuracy", a column of results.csv
  std::string sum;    // of the sum that it is the mean of, in checkpoints
  std::string title;  // for people: "top-1"
  std::string brief;  // in a line of progress: "acc"
  Unit unit = Unit::share;
  bool higher_is_better = true;
  bool of_training = true;  // told of training batches too, not of evaluation alone
  // Of results.csv: beside the losses, or behind all columns that every task has.
  enum class Column : std::uint8_t { beside_loss, behind };
  Column column = Column::beside_loss;
  bool is_mean = true;  // else it is of the whole of an evaluation: see Tally::finish
};
inline constexpr std::size_t kMostMetrics = 4;
// One number per metric of a task, in its order.
using MetricValues = std::array<double, kMostMetrics>;

// Inputs or results of one step by name; views of the step's memory.
class StepTensors {
 public:
  using Find = std::function<std::optional<TensorView>(std::string_view name)>;
  explicit StepTensors(Find find) : find_(std::move(find)) {}

  std::optional<TensorView> find(std::string_view name) const { return find_(name); }
  // Aborts where the step has no such value.
  TensorView at(std::string_view name) const;
  // Row `n` of a matrix of outputs.
  std::span<const float> row(std::string_view name, std::int64_t n) const;

 private:
  Find find_;
};

// What a task adds to the graph of a step.
struct TaskValues {
  // The loss of one head, which reads `features` and nothing else of the network.
  struct Part {
    Values features;
    ValueId loss;
  };

  ValueId loss;    // one element: to be differentiated
  Values results;  // to be read after a step; "loss" is among their names
  // Where there are any, `loss` is their sum. Each is run and differentiated up to its features
  // before the next begins, so that one head's values are alive at a time.
  std::vector<Part> parts = {};
};

// What an evaluation found of every class, as a table.
struct ClassTable {
  enum class Unit : std::uint8_t { count, share, number };
  struct Column {
    std::string name;   // of records: "recall"
    std::string title;  // for people
    Unit unit = Unit::share;
  };
  struct Row {
    std::string name;            // of the class
    std::vector<double> values;  // one per column; below 0: there is none
    std::string remark;          // "roses (12)"; may be empty
  };
  std::vector<Column> columns;
  std::string remark_title;  // what remarks are; empty: there are none
  std::vector<Row> rows;     // none: the task has no classes
};

// A file that an evaluation is told by.
struct EvaluationPicture {
  std::string file;  // "confusion.svg"
  std::string svg;
};

// Where evidence is from, in a complaint about it.
inline constexpr const char* kEvidence = "what another rank has evaluated";

// What an evaluation adds up beyond means, sample by sample.
class Tally {
 public:
  virtual ~Tally() = default;
  virtual void clear() = 0;
  // After the step that evaluated `batch`.
  virtual void add(const StepTensors& results, const Batch& batch) = 0;
  // What add() would count, for the tally of another process; and the counting of it. DataError for
  // evidence that no tally like this has made.
  virtual std::string evidence(const StepTensors& results, const Batch& batch) = 0;
  virtual void add_evidence(std::string_view evidence) = 0;
  // After the last batch: puts in its numbers that are no means over samples, in the order of the
  // task's metrics. DataError where what was kept for them in a file can no longer be read.
  virtual void finish(std::span<double> metrics) { (void)metrics; }
  // Of all that was added, after finish().
  virtual ClassTable classes() const { return {}; }
  // Empty where there is nothing to be seen.
  virtual std::vector<EvaluationPicture> pictures(const std::string& title) const = 0;
};

// One thing that a network says of a picture, and where it is, in pixels of the upright picture.
struct Prediction {
  std::string name;
  double score = 0;
  std::optional<boxes::Box<double>> box = {};
  std::int32_t label = 0;
};

// Immutable; may be used by several threads at the same time.
class Task {
 public:
  virtual ~Task() = default;

  // "classification": part of what a run is.
  virtual std::string_view name() const = 0;

  // Where the second stage of a network is to look, from what its first says of `levels`. Asked
  // while the network is built, before append(), by those that have two: of tasks with boxes alone.
  virtual nn::Regions regions(Graph& graph, const std::vector<nn::Level>& levels,
                              const nn::RegionOptions& options, bool training) const;
  // Adds targets as inputs, the losses of all heads, and what is counted. What only training has
  // (weights of samples, mixed targets) is left out of evaluation.
  virtual TaskValues append(Graph& graph, const nn::Heads& heads, bool training) const = 0;
  // Puts the targets of samples [first, first + count) of a batch into a step's inputs, as far as
  // the step has them.
  virtual void fill(const Batch& batch, std::int64_t first, std::int64_t count,
                    const StepTensors& inputs) const = 0;
  // Targets of a made-up batch, the same every time.
  virtual void fill_synthetic(const StepTensors& step, std::int64_t count) const = 0;

  // At most kMostMetrics; the first is what a run shows beside its loss.
  virtual const std::vector<Metric>& metrics() const = 0;
  // What a step counted over its samples, one sum per metric.
  virtual void read(const StepTensors& results, std::span<double> sums) const noexcept = 0;

  // What it keeps beyond its memory waits in a nameless file in `directory`.
  virtual std::unique_ptr<Tally> make_tally(const std::filesystem::path& directory) const = 0;
  // All that a tally takes from the moment it is made, where that is not negligible.
  virtual Bytes tally_bytes() const { return {0}; }
  // What a step found in picture `at` of its batch, best first, at most `most`; `raw`: scores as
  // the network gives them.
  virtual std::vector<Prediction> predict(const StepTensors& results, const Batch& batch,
                                          std::int64_t at, std::size_t most, bool raw) const = 0;
  // Whether such scores are shares of 1, unless raw ones are asked for.
  virtual bool predicts_shares() const { return true; }
  // A few words below a sample in a picture of its batch.
  virtual std::string caption(const Batch& batch, std::size_t at) const = 0;
};

using TaskPtr = std::shared_ptr<const Task>;

// The `most` best of one row of outputs, by what `score` makes of each; the first of equals first.
std::vector<Prediction> best_of(std::span<const float> outputs, std::size_t most,
                                const std::function<double(double)>& score,
                                std::span<const std::string> names);

// The metric that an evaluation is judged by: the first that is of the whole of it, or else the
// first of all.
std::size_t headline_of(const Task& task);

// Places of the metrics that are told of training batches too.
std::vector<std::size_t> metrics_of_training(const Task& task);

// The metric of that name; UsageError naming `option` where the task has none.
std::size_t find_metric(const Task& task, std::string_view name, const char* option);

}  // namespace plimsoll
