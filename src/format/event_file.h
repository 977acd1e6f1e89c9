// TensorBoard event files: what a run tells TensorBoard while it goes.
//
// A file is a list of TFRecords, each an Event protocol buffer: the wall time, the step, and a
// summary of one tag. The old-style summaries (simple_value, histo, image) are written: every
// TensorBoard reads them and shows them in its current pages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"

namespace plimsoll {

// Seconds since 1970.
using WallClock = std::function<double()>;
double wall_clock();

struct EventFileOptions {
  // Of a resumed run: the first step that will be written again. TensorBoard then drops what
  // earlier files of the folder have from this step on.
  std::optional<std::int64_t> resumed_at;
  WallClock clock = wall_clock;
};

// One new file in a folder that TensorBoard watches, such as RUN/train. Its name sorts after those
// of all event files already there, even if the clock was set back, because TensorBoard reads
// them in the order of their names.
//
// Nothing here throws for what a disk does: logging must not end a training run. A call returns
// whether its event was taken, failure() has the reason of the last loss and lost() the number of
// events. After a failure the file is cut back to its last whole record and later calls try
// again, so that a disk which was full for a while costs only what was logged meanwhile.
//
// Events are gathered up to 64 KiB; flush() hands them to the system (not to the disk: what a
// power cut takes, a resumed run writes again). Thread-compatible.
class EventFile {
 public:
  // Makes the folder if it is missing.
  explicit EventFile(const std::filesystem::path& folder, const EventFileOptions& options = {});
  EventFile(EventFile&&) = default;
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  // Tags with slashes are grouped by their first part. Any value, NaN too: TensorBoard marks it.
  bool scalar(std::string_view tag, std::int64_t step, double value);
  // 30 equal buckets from the least to the greatest value, as TensorBoard's own writer makes.
  // What is not finite is left out; no finite value makes an empty histogram.
  bool histogram(std::string_view tag, std::int64_t step, std::span<const float> values);
  // `png`: the bytes of an RGB file of that size.
  bool image(std::string_view tag, std::int64_t step, std::int64_t width, std::int64_t height,
             std::string_view png);
  bool flush();

  // Empty as long as nothing was lost.
  const std::string& failure() const { return failure_; }
  std::int64_t lost() const { return lost_; }
  // Empty if no file could be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  bool open(const std::filesystem::path& folder, std::int64_t seconds);
  bool append(std::string_view event);
  bool lose(std::string reason);

  WallClock clock_;
  std::filesystem::path path_;
  FileHandle handle_;
  std::string head_;      // the records every file begins with
  std::string gathered_;  // whole records, not yet written
  std::int64_t gathered_events_ = 0;
  std::int64_t written_ = 0;  // bytes of whole records in the file
  std::string failure_;
  std::int64_t lost_ = 0;
};

}  // namespace plimsoll
