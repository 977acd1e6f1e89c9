// What has happened and was not asked for yet.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "run/run_event.h"

namespace plimsoll {

// First in, first out. Thread-safe: the thread beside a run has messages too.
class EventQueue {
 public:
  void put(RunEvent event) {
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
  }
  std::optional<RunEvent> take() {
    const std::scoped_lock lock(mutex_);
    if (events_.empty()) return std::nullopt;
    std::optional<RunEvent> event(std::move(events_.front()));
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::deque<RunEvent> events_;
};

}  // namespace plimsoll
