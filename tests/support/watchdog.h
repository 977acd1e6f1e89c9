// A test that would hang fails instead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace plimsoll {

// Ends the program with a message unless it goes out of scope in time.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds(60))
      : thread_([this, limit] {
          std::unique_lock lock(mutex_);
          // Second by second: a process that was stopped for a while has lost one, not all.
          for (auto left = limit; left.count() > 0; --left)
            if (done_.wait_for(lock, std::chrono::seconds(1), [this] { return is_done_; })) return;
          std::fputs("watchdog: the test hangs\n", stderr);
          std::abort();
        }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::scoped_lock lock(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace plimsoll
