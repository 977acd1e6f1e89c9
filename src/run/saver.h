// When a run's checkpoint is written, and what becomes of older ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/stopwatch.h"
#include "run/checkpoint.h"

namespace plimsoll {

struct SaveOptions {
  std::int64_t every_steps = 0;  // 0: by time
  double every_seconds = 600;    // where no steps are given
  std::int64_t keep = 1;         // checkpoints in all, the last one included
};

// "100" steps, or "30s", "5min", "2h". UsageError.
SaveOptions parse_save_every(const std::string& text);

class Saver {
 public:
  using Tell = std::function<void(const std::string& text)>;
  // Files go to <out>/weights. `saved` is the step of the checkpoint that is there, or -1.
  Saver(const std::filesystem::path& out, const SaveOptions& options, std::int64_t saved,
        Tell tell);

  bool is_due(std::int64_t step) const;
  // Another rank has written it.
  void note_saved(std::int64_t step) { saved_step_ = step; }
  bool is_saved(std::int64_t step) const { return saved_step_ == step; }
  // Writes weights/last.safetensors, and a name of its own for those that are kept. What fails is
  // told of, the older checkpoint stands, and false is returned.
  bool save(const Trainer& trainer, const RunIdentity& identity, const RunState& state);
  // Weights alone, to weights/best.safetensors.
  bool save_best(const Trainer& trainer, const RunIdentity& identity, const RunState& state);

  std::filesystem::path last() const;
  // Why the last attempt failed; empty if it did not.
  const std::string& trouble() const { return trouble_; }

 private:
  void keep_older(std::int64_t step);
  template <class Write>
  bool attempt(std::int64_t step, Write write);

  std::filesystem::path folder_;
  SaveOptions options_;
  Tell tell_;
  std::int64_t saved_step_;
  Stopwatch since_;
  std::string trouble_;
};

}  // namespace plimsoll
