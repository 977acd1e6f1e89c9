// The graph of one step: a network with its loss and, for training, backward and updates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/session.h"
#include "nn/nn.h"
#include "passes/passes.h"
#include "step/optimizer.h"
#include "step/part_sums.h"
#include "task/task.h"

namespace plimsoll {

// Adds a network's layers to a builder; the same layers for every batch size and mode.
using NetworkFactory = std::function<nn::Heads(nn::Builder&)>;

// Weights by name: which stay as they are, which learn at a rate of their own, and whether a moving
// average of them is kept. Patterns are globs over layer names ("block1*"); those of lr_factors
// with a slash over weight names ("*/kernel"). Of several that match, the last counts.
struct Tuning {
  std::vector<std::string> frozen;  // "!block1*": not these
  std::vector<std::pair<std::string, double>> lr_factors;
  double average = 0;              // decay; 0: no average
  double batch_norm_momentum = 0;  // of running statistics; 0: the network's own
};
bool matches(const std::string& pattern, std::string_view name);
bool is_frozen(const Tuning& tuning, std::string_view layer);
double lr_factor(const Tuning& tuning, std::string_view layer, std::string_view weight);

// Names of the values a step is fed and read by.
//   in:  image f32 [N,C,H,W] · lr f32 [1] · step i64 [1] · sample i64 [2] (position of the first in
//        the run, seed) · what the task is fed beside · of parts: share f32 [1], of the batch, and
//        code i32 [2], see part_sums.h
//   out: loss f32 [1] · norm f64 [1] · what the task counts
struct StepGraph {
  TapeRequest tape;
  std::vector<nn::Layer> layers;          // in Keras's order
  std::vector<nn::Parameter> parameters;  // of the layers, in that order, under their own names
  std::vector<MergedParameter> merged;    // those that lie inside a larger one
  std::vector<std::string> slot_kinds;  // what the optimizer remembers of every weight: "momentum"
  std::vector<std::string> slots;       // names of its residents, all start at zero
  // A resident that starts as another one, from that element on, as it is stored.
  struct Copy {
    std::string copy, of;
    std::int64_t first = 0;
  };
  bool has_averages = false;
  std::vector<Copy> averages;  // "average/<weight>"
  // Residents that updates change. Of several shards this rank remembers, in slots and averages,
  // its own of each (dist/shard.h); of a small weight it may have none.
  std::vector<std::string> trained;
  int rank = 0;
  int shards = 1;
  std::vector<std::int64_t> met_channels;  // of BatchNorms whose parts meet, in the order they do
};

// Names of residents that follow a weight.
std::string slot_name(std::string_view weight, std::string_view slot);
std::string average_name(std::string_view weight);
// The weight whose slot or average has that name; of other roles itself.
std::string followed_weight(std::string_view resident, Role role);

// How far the graph is rewritten. `plain` runs layer by layer as written: for comparisons.
enum class Fusion : std::uint8_t { full, plain };

// `l2` times the sum of squared weights, vectors excepted, is added to the task's loss.
StepGraph training_graph(const OpTable& ops, const nn::Input& input, const NetworkFactory& network,
                         const Task& task, double l2, const OptimizerOptions& optimizer,
                         const Tuning& tuning = {}, Fusion fusion = Fusion::full,
                         const PartRequest& part = {});

// Forward only, with running statistics.
StepGraph evaluation_graph(const OpTable& ops, const nn::Input& input,
                           const NetworkFactory& network, const Task& task,
                           const Tuning& tuning = {}, Fusion fusion = Fusion::full);

}  // namespace plimsoll
