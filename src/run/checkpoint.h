// Checkpoints: everything a resume needs, and nothing that depends on memory, time or place.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "run/run_state.h"
#include "step/trainer.h"

namespace plimsoll {

// What a run is, in words. `is` may not change on a resume (model, data, optimizer); `with` may
// (learning rate, batch), and a change is said.
struct RunIdentity {
  Metadata is;
  Metadata with;
};
inline constexpr const char* kIsaKey = "isa";  // of `with`: a change of it rounds sums otherwise

// Weights, optimizer's tensors and averages with where the run stands. Appears complete and proven,
// or not at all. DataError. Inside of Shards::lead(), and so is load_checkpoint().
void save_checkpoint(const std::filesystem::path& path, const Trainer& trainer,
                     const RunIdentity& identity, const RunState& state);
// Weights and statistics alone, for those who use them.
void save_weights(const std::filesystem::path& path, const Trainer& trainer,
                  const RunIdentity& identity, const RunState& state);

struct Checkpoint {
  explicit Checkpoint(const std::filesystem::path& path);

  SafetensorsReader file;
  RunState state;
  RunIdentity identity;
};

// A setting with which a run goes on otherwise than it began.
struct SettingChange {
  std::string key, before, now;  // "none" where there is none
};
// Refuses a checkpoint of another run, naming the first difference. Returns what else changed.
std::vector<SettingChange> compare(const Checkpoint& checkpoint, const RunIdentity& now);

// Puts the checkpoint's tensors into an open trainer. Optimizer's tensors and averages of weights
// that were frozen when it was written start anew.
void load_checkpoint(const Checkpoint& checkpoint, const Trainer& trainer);

}  // namespace plimsoll
