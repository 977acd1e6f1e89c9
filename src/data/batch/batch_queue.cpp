#include "data/batch/batch_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"

namespace plimsoll {

BatchQueue::BatchQueue(Shape shape)
    : shape_(std::move(shape)), slots_(static_cast<std::size_t>(shape_.depth)) {}

std::int64_t BatchQueue::least() const {
  // Where all samples are less than a batch, dropping it would leave nothing.
  return shape_.drop_last ? std::min(shape_.batch, shape_.samples) : 1;
}

std::int64_t BatchQueue::batches_per_epoch() const {
  return shape_.samples / shape_.batch + (shape_.samples % shape_.batch >= least() ? 1 : 0);
}

bool BatchQueue::is_epoch_over() const { return shape_.samples - cursor_.position < least(); }

bool BatchQueue::is_at_end() const { return !shape_.repeat && is_epoch_over(); }

bool BatchQueue::has_work() {
  if (paused_) return false;
  if (opened_ > 0) {
    const Slot& last = slot(opened_ - 1);
    if (last.dealt < last.window.count) return true;
  }
  if (opened_ - released_ >= shape_.depth || is_at_end()) return false;
  if (is_epoch_over()) cursor_ = {.epoch = cursor_.epoch + 1};
  Slot& opened = slot(opened_++);
  opened = {.epoch = cursor_.epoch,
            .first = cursor_.position,
            .whole = std::min(shape_.batch, shape_.samples - cursor_.position)};
  opened.window = shape_.window ? shape_.window(opened.first, opened.whole)
                                : BatchWindow{.first = 0, .count = opened.whole};
  cursor_.position += opened.whole;
  return true;
}

std::optional<Share> BatchQueue::take(int worker) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return closed_ || (worker < active_ && has_work()); });
  if (closed_) return std::nullopt;
  Slot& last = slot(opened_ - 1);
  const std::int64_t count = std::min(shape_.share, last.window.count - last.dealt);
  const Share share{.slot = static_cast<int>((opened_ - 1) % shape_.depth),
                    .epoch = last.epoch,
                    .position = last.first + last.window.first + last.dealt,
                    .at = last.dealt,
                    .count = count};
  last.dealt += count;
  ++busy_;
  return share;
}

void BatchQueue::count_made(const Share& share) {
  Slot& mine = slots_[static_cast<std::size_t>(share.slot)];
  mine.made += share.count;
  --busy_;
  if (mine.made == mine.window.count || busy_ == 0) ready_.notify_one();
}

void BatchQueue::finish(const Share& share) {
  const std::scoped_lock lock(mutex_);
  count_made(share);
}

void BatchQueue::fail(const Share& share, std::int64_t at, std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  Slot& mine = slots_[static_cast<std::size_t>(share.slot)];
  if (mine.failed_at < 0 || at < mine.failed_at) {
    mine.failed_at = at;
    mine.error = std::move(error);
  }
  count_made(share);
}

void BatchQueue::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  ready_.wait(lock, [&] { return busy_ == 0; });
}

void BatchQueue::start(Cursor cursor) {
  pause();
  {
    const std::scoped_lock lock(mutex_);
    cursor_ = cursor;
    opened_ = 0;
    released_ = 0;
    holds_one_ = false;
    paused_ = false;
  }
  work_.notify_all();
}

void BatchQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  work_.notify_all();
}

std::optional<BatchQueue::Ready> BatchQueue::next() {
  std::unique_lock lock(mutex_);
  expect(!paused_, "next() before start()");
  if (holds_one_) {
    ++released_;
    holds_one_ = false;
    work_.notify_all();
  }
  if (released_ == opened_ && is_at_end()) return std::nullopt;
  const auto is_ready = [&](std::int64_t number) {
    return number < opened_ && slot(number).made == slot(number).window.count;
  };
  Ready result;
  // The slot just given back has had no time to be filled.
  result.was_full = true;
  for (std::int64_t k = 0; k + 1 < shape_.depth; ++k)
    result.was_full = result.was_full && is_ready(released_ + k);
  if (!is_ready(released_)) {
    const Stopwatch watch;
    ready_.wait(lock, [&] { return is_ready(released_); });
    result.waited = watch.seconds();
  }
  const Slot& mine = slot(released_);
  if (mine.error) std::rethrow_exception(mine.error);
  result.slot = static_cast<int>(released_ % shape_.depth);
  result.epoch = mine.epoch;
  result.first = mine.first;
  result.whole = mine.whole;
  result.window = mine.window;
  holds_one_ = true;
  return result;
}

void BatchQueue::set_active(int workers) {
  {
    const std::scoped_lock lock(mutex_);
    active_ = workers;
  }
  work_.notify_all();
}

int BatchQueue::active() const {
  const std::scoped_lock lock(mutex_);
  return active_;
}

}  // namespace plimsoll
