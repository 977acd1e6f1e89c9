// A training run that is asked for what happens next.
//
//   plimsoll::v1::Run run({.data = {.path = "photos"}, .memory = "500MiB", .out = "runs/photos"});
//   while (const auto event = run.next())
//     if (const auto* epoch = std::get_if<plimsoll::v1::EpochDone>(&*event)) ...
//
// Nothing here prints, ends the process, installs a signal handler, or changes settings of the
// process, but for the two functions at the end, which are there to do so; what a watchdog would
// say goes into Message and log.txt.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <plimsoll/events.h>
#include <plimsoll/settings.h>

namespace plimsoll::v1 {

// What a caller may want of a run beside its events.
struct Hooks {
  // The run makes no progress, so next() does not return. Called by a thread beside it, with what
  // every thread waits for. `ends`: "on-stall" asked for the end of such a run, which is the end of
  // the process, and the caller's to do; the last checkpoint stands.
  std::function<void(const std::string& text, bool ends)> on_stall = {};
  // Looks several times a second whether other work has the processors. As long as it has, waiting
  // threads of OpenMP teams in this process sleep instead of spinning, and the log tells. Alone
  // nothing changes.
  bool sleeps_when_crowded = false;
};

// Not thread-safe, but for stop(). At most one at a time in a process.
class Run {
 public:
  // Reads all data once, plans the run into its budget and opens its directory: a new one, or one
  // in which this very run goes on. UsageError, DataError; BudgetError, with what would help, if it
  // does not fit: then nothing was started. Uses the OpenMP team as it is.
  explicit Run(const Settings& settings, const Hooks& hooks = {});
  // Goes on with the run in that directory, as it was asked for; what `changes` names is different
  // from here on, by long option: {"epochs", "20"}.
  static Run resume(const std::string& directory,
                    const std::map<std::string, std::string>& changes = {},
                    const Hooks& hooks = {});
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  // Works until something happened, one step or one batch of validation at the most. Nothing after
  // Finished, and at once where is_complete(). DataError when the last checkpoint cannot be
  // written, and when data goes bad: then the checkpoint of the last good step was written.
  std::optional<Event> next();

  // The run writes its checkpoint and finishes instead of the next step. From any thread or signal
  // handler.
  void stop() noexcept;

  // The run that was found has done all that is asked for.
  bool is_complete() const;
  // The run directory, which has weights/last.safetensors, results.csv, log.txt.
  std::string directory() const;
  // The step from which it goes on; 0: it begins.
  std::int64_t resumed_step() const;
  std::int64_t predicted_bytes() const;

 private:
  class Body;
  explicit Run(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// Sets the size of the OpenMP team for the whole process, for all OpenMP code in it, and returns
// what was given. 0: the cores the process may use. UsageError for a number that makes no sense.
// The numbers of a run depend on it in their last bits.
int use_threads(std::int64_t threads);

// Sets the instructions that kernels use, for the whole process and for oneDNN in it: "avx2",
// "avx512", "avx512_bf16", or "", the default, avx2; returns the word for them. Before
// anything is computed. UsageError for what the processor lacks. The numbers of a run depend on
// them in their last bits.
std::string use_isa(const std::string& word);

// Switches off oneDNN's cache of primitives, for the whole process and for all who use oneDNN in
// it. Without this, what a run compiled is still held when the run is gone, and is counted against
// the budget of the next one.
void use_no_primitive_cache();

}  // namespace plimsoll::v1
