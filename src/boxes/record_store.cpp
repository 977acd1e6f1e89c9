#include "boxes/record_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include "base/error.h"

namespace plimsoll::boxes {
namespace {

constexpr auto kRecord = static_cast<std::int64_t>(sizeof(DetectionRecord));

// By class, then by score falling. A score that is NaN comes last.
bool comes_before(const DetectionRecord& a, const DetectionRecord& b) {
  if (a.label() != b.label()) return a.label() < b.label();
  return a.score() > b.score() || (b.score() != b.score() && a.score() == a.score());
}

}  // namespace

RecordStore::RecordStore(std::span<DetectionRecord> buffer, std::span<std::uint32_t> order,
                         std::filesystem::path directory)
    : buffer_(buffer), order_(order), directory_(std::move(directory)) {
  static_assert(sizeof(Cursor) == 4 * sizeof(std::uint32_t));
  expect(buffer.size() >= 16 && buffer.size() < (std::size_t{1} << 32) &&
             order.size() == buffer.size(),
         "room for records, and for their order");
  if (directory_.empty()) return;
  file_ = std::make_unique<NamelessFile>(directory_);
  if (!file_->is_open()) throw_file_error(directory_, "cannot create a file", errno);
}

void RecordStore::check(int error, const char* doing) const {
  if (error != 0) throw_file_error(directory_, doing, error);
}

std::int64_t RecordStore::length_of_run(std::int64_t run) const {
  return run + 1 == runs_ ? last_run_ : capacity();
}

void RecordStore::clear() { count_ = runs_ = last_run_ = 0; }

void RecordStore::add(const DetectionRecord& record) {
  if (count_ == capacity()) spill();
  buffer_[static_cast<std::size_t>(count_++)] = record;
}

void RecordStore::sort() {
  const auto end = order_.begin() + count_;
  std::iota(order_.begin(), end, 0U);
  std::sort(order_.begin(), end, [&](std::uint32_t a, std::uint32_t b) {
    if (comes_before(buffer_[a], buffer_[b])) return true;
    return !comes_before(buffer_[b], buffer_[a]) && a < b;
  });
}

void RecordStore::spill() {
  // Merging needs a cursor for every run, and these lie where the order was.
  if (file_ == nullptr || (runs_ + 1) * 4 > capacity())
    throw UsageError({.where = "evaluation of detections",
                      .got = std::to_string(size()) + " detections",
                      .expected = file_ == nullptr
                                      ? "at most that many without a folder to spill to"
                                      : "fewer for a buffer of " + std::to_string(capacity()),
                      .hint = "keep fewer detections of each picture"});
  sort();
  std::array<DetectionRecord, 1024> piece;
  const std::int64_t begin = runs_ * capacity();
  for (std::int64_t done = 0; done < count_;) {
    const auto length = std::min<std::int64_t>(count_ - done, piece.size());
    for (std::int64_t i = 0; i < length; ++i)
      piece[static_cast<std::size_t>(i)] = buffer_[order_[static_cast<std::size_t>(done + i)]];
    check(file_->write(reinterpret_cast<const std::byte*>(piece.data()), length * kRecord,
                       (begin + done) * kRecord),
          "cannot write detections");
    done += length;
  }
  last_run_ = count_;
  count_ = 0;
  ++runs_;
}

// False at the end of the run.
bool RecordStore::refill(Cursor& cursor, std::int64_t window) {
  if (cursor.at < cursor.end) return true;
  const std::int64_t length = std::min(window, length_of_run(cursor.run) - cursor.read);
  if (length <= 0) return false;
  check(file_->read(
            reinterpret_cast<std::byte*>(&buffer_[static_cast<std::size_t>(cursor.run * window)]),
            length * kRecord, (cursor.run * capacity() + cursor.read) * kRecord),
        "cannot read detections");
  cursor.at = 0;
  cursor.end = static_cast<std::uint32_t>(length);
  cursor.read += static_cast<std::uint32_t>(length);
  return true;
}

void RecordStore::merge(const std::function<void(const DetectionRecord&)>& visit) {
  const std::int64_t window = capacity() / runs_;
  const std::span<Cursor> cursors(reinterpret_cast<Cursor*>(order_.data()),
                                  static_cast<std::size_t>(runs_));
  const auto record = [&](const Cursor& cursor) -> const DetectionRecord& {
    return buffer_[static_cast<std::size_t>(cursor.run * window + cursor.at)];
  };
  // Heaps of the library keep the greatest on top: here that is what comes first. Of equals the
  // earlier run: its records were added earlier.
  const auto comes_after = [&](const Cursor& a, const Cursor& b) {
    if (comes_before(record(b), record(a))) return true;
    return !comes_before(record(a), record(b)) && b.run < a.run;
  };
  for (std::uint32_t run = 0; run < cursors.size(); ++run) {
    cursors[run] = {.run = run, .at = 0, .end = 0, .read = 0};
    refill(cursors[run], window);
  }
  auto end = cursors.end();
  std::make_heap(cursors.begin(), end, comes_after);
  while (end != cursors.begin()) {
    std::pop_heap(cursors.begin(), end, comes_after);
    Cursor& first = *(end - 1);
    visit(record(first));
    ++first.at;
    if (refill(first, window))
      std::push_heap(cursors.begin(), end, comes_after);
    else
      --end;
  }
}

void RecordStore::drain(const std::function<void(const DetectionRecord&)>& visit) {
  if (runs_ > 0) {
    if (count_ > 0) spill();
    merge(visit);
  } else {
    sort();
    for (std::int64_t i = 0; i < count_; ++i) visit(buffer_[order_[static_cast<std::size_t>(i)]]);
  }
  clear();
}

}  // namespace plimsoll::boxes
