// Any number of detection records in fixed memory: a buffer that spills sorted runs to a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "base/nameless_file.h"
#include "boxes/detection_record.h"

namespace plimsoll::boxes {

// Works in memory that the caller gives and keeps: `buffer`, and as many numbers in `order`. Full,
// it sorts what it has and appends it to a nameless file in `directory`. Thread-compatible.
class RecordStore {
 public:
  // DataError where the directory takes no files. An empty one means that nothing may be spilled.
  RecordStore(std::span<DetectionRecord> buffer, std::span<std::uint32_t> order,
              std::filesystem::path directory);

  // DataError where the disk is full, UsageError where there is none and the buffer is full.
  void add(const DetectionRecord& record);
  std::int64_t size() const { return runs_ * capacity() + count_; }

  // Calls visit(record) for all, by class, then by score falling, then as they were added; then it
  // is empty.
  void drain(const std::function<void(const DetectionRecord&)>& visit);
  void clear();

 private:
  // A run that is being read: its window of the buffer, and where in it we stand. As large as four
  // numbers of `order_`, where they lie.
  struct Cursor {
    std::uint32_t run;
    std::uint32_t at;    // in the window
    std::uint32_t end;   // of what the window holds
    std::uint32_t read;  // records of the run that were read
  };

  std::int64_t capacity() const { return static_cast<std::int64_t>(buffer_.size()); }
  void sort();
  void spill();
  void merge(const std::function<void(const DetectionRecord&)>& visit);
  bool refill(Cursor& cursor, std::int64_t window);
  std::int64_t length_of_run(std::int64_t run) const;
  void check(int error, const char* doing) const;

  std::span<DetectionRecord> buffer_;
  std::span<std::uint32_t> order_;
  std::filesystem::path directory_;
  std::unique_ptr<NamelessFile> file_;
  std::int64_t count_ = 0;  // in the buffer
  std::int64_t runs_ = 0;   // in the file, of capacity() records each, but perhaps the last
  std::int64_t last_run_ = 0;
};

}  // namespace plimsoll::boxes
