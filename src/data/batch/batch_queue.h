// The ring of batches between workers and consumer: who fills what next, and what is ready.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "data/batch/batch_window.h"

namespace plimsoll {

// Where reading is: the epoch, and how many samples of it have been dealt out.
struct Cursor {
  std::int64_t epoch = 0;
  std::int64_t position = 0;
};

// Some samples of one batch, dealt to one worker.
struct Share {
  int slot = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // of the first, in the epoch's order
  std::int64_t at = 0;        // of the first, in what is made of the batch
  std::int64_t count = 0;
};

// Thread-safe. Knows counts and order; the memory of a slot belongs to the caller.
class BatchQueue {
 public:
  struct Shape {
    std::int64_t samples = 0;  // per epoch; at least 1
    std::int64_t batch = 1;
    int depth = 2;
    bool drop_last = false;
    bool repeat = true;
    std::int64_t share = 1;  // most samples of a Share
    WindowOfBatch window = {};
  };
  explicit BatchQueue(Shape shape);

  // Worker `worker` asks for work and sleeps until there is some for it, or the queue is closed for
  // good (then nothing). It is busy until finish() or fail().
  std::optional<Share> take(int worker);
  void finish(const Share& share);
  // Sample `at` of the batch could not be made; the rest of the share counts as made.
  void fail(const Share& share, std::int64_t at, std::exception_ptr error);

  // Begins anew: waits until no worker is busy. Only for the consumer, as all below.
  void start(Cursor cursor);
  // Deals out nothing more; returns when no worker is busy.
  void pause();
  // Ends every take().
  void close();

  struct Ready {
    int slot = 0;
    std::int64_t epoch = 0;
    std::int64_t first = 0;
    std::int64_t whole = 0;  // samples of the batch
    BatchWindow window;      // those that were made
    bool was_full = false;   // all other slots were ready too
    double waited = 0;       // seconds
  };
  // Gives back the batch got before, and waits for the next; nothing at the end. Throws the error
  // of its first sample that failed.
  std::optional<Ready> next();

  std::int64_t batches_per_epoch() const;

  // How many workers, from the first, get work.
  void set_active(int workers);
  int active() const;

 private:
  struct Slot {
    std::int64_t epoch = 0;
    std::int64_t first = 0;
    std::int64_t whole = 0;
    BatchWindow window;
    std::int64_t dealt = 0;
    std::int64_t made = 0;
    std::int64_t failed_at = -1;
    std::exception_ptr error;
  };

  Slot& slot(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number % shape_.depth)];
  }
  // Samples of the smallest batch there may be.
  std::int64_t least() const;
  bool is_epoch_over() const;
  bool is_at_end() const;
  // With the lock held: opens a slot if there is work to deal, tells if there is.
  bool has_work();
  void count_made(const Share& share);

  Shape shape_;
  mutable std::mutex mutex_;
  std::condition_variable work_;   // for workers
  std::condition_variable ready_;  // for the consumer
  std::vector<Slot> slots_;
  Cursor cursor_;              // where the next batch begins
  std::int64_t opened_ = 0;    // batches opened since start()
  std::int64_t released_ = 0;  // batches given back
  bool holds_one_ = false;     // the consumer has a batch
  int busy_ = 0;
  int active_ = 1;
  bool paused_ = true;
  bool closed_ = false;
};

}  // namespace plimsoll
