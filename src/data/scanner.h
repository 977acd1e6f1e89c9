// One worker of a scan.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/scan.h"

namespace plimsoll {

// Bytes that are shared out; whoever finds too few left waits. Thread-safe.
class Allowance {
 public:
  explicit Allowance(Bytes all) : all_(all) {}

  // Whoever asks for more than there is gets it when nobody else has any.
  void take(Bytes bytes);
  void give_back(Bytes bytes);

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  Bytes all_;
  Bytes taken_{0};
};

// Makes a part of the report, with the memory of one image. Source, options and allowance must
// outlive it.
class Scanner {
 public:
  // `own`: what it may hold all the time; for an image that takes more it asks the allowance.
  // `contents` is shared with others: each writes those of its own samples.
  Scanner(const Source& source, const ScanOptions& options, Bytes own, Allowance& allowance,
          std::vector<std::uint64_t>& contents);

  // Reads and decodes a sample; what is wrong with it goes into the report.
  void look_at(std::int64_t i);
  std::int64_t bad() const { return std::ssize(report_.bad); }

  // Adds the part to the whole, whose mean stays a sum until all have been added.
  void merge_into(ScanReport& whole);

 private:
  Size look_at_raw(const Encoded::Pixels& raw);
  Size look_at_file(const Encoded& encoded, std::int64_t i);
  void look_at_boxes(std::int64_t i, Size size);
  void decode(const Encoded& encoded, const std::string& where, const ImageInfo& info,
              const DecodeRequest& request);
  void note_size(std::int64_t i, Size size);
  // Lists of examples may not grow with the data.
  void trim();

  const Source& source_;
  const ScanOptions& options_;
  Bytes own_;
  Allowance& allowance_;
  std::vector<std::uint64_t>& contents_;
  Decoder decoder_;
  std::vector<std::byte> buffer_;
  Picture picture_;
  ScanReport report_;
  std::int64_t seen_ = 0;
  std::int64_t total_height_ = 0;
  std::int64_t total_width_ = 0;
  int since_trim_ = 0;
};

// Leaves the five with the most pixels, the largest first.
void keep_biggest(std::vector<std::pair<std::int64_t, Size>>& list);

}  // namespace plimsoll
