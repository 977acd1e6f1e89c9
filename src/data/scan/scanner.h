// One worker of a scan.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/scan/scan.h"

namespace plimsoll {

// Bytes that are shared out; whoever finds too few left waits. Thread-safe.
class Allowance {
 public:
  explicit Allowance(Bytes all) : all_(all) {}

  Bytes all() const { return all_; }
  // Waits until so much is left; at most all().
  void take(Bytes bytes);
  void give_back(Bytes bytes);
  // Whether somebody waits: what is held to be used again is to be given back.
  bool is_wanted() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable given_back_;
  Bytes all_;
  Bytes taken_{0};
  int waiting_ = 0;
};

// Makes a part of the report. Source, options and allowance must outlive it.
class Scanner {
 public:
  // `allowance`: what all scanners may hold to decode. `contents` is shared with others: each
  // writes those of its own samples.
  Scanner(const Source& source, const ScanOptions& options, Allowance& allowance,
          std::vector<std::uint64_t>& contents);
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;
  ~Scanner();

  // Reads and decodes a sample; what is wrong with it goes into the report.
  void look_at(std::int64_t i);
  std::int64_t bad() const { return std::ssize(report_.bad); }

  // What it found of its samples; see merge().
  const ScanReport& found() const { return report_; }

 private:
  void look_at_raw(const Encoded::Pixels& raw);
  void look_at_file(const Encoded& encoded, std::int64_t i);
  void look_at_boxes(std::int64_t i);
  // False if it needs more than there is in all.
  bool decode(const Encoded& encoded, const std::string& where, const ImageInfo& info,
              const DecodeRequest& request);
  void leave_room();
  void note_size(std::int64_t i, Size size);
  // Lists of examples may not grow with the data.
  void trim();

  const Source& source_;
  const ScanOptions& options_;
  Allowance& allowance_;
  std::vector<std::uint64_t>& contents_;
  Bytes room_taken_{0};  // from the allowance, for
  Room room_;
  Decoder decoder_;
  MappedBytes buffer_;
  ScanReport report_;
  std::int64_t seen_ = 0;
  int since_trim_ = 0;
};

// Adds a part to the whole, but for contents. A mean stays a sum until all have been added.
void merge(const ScanReport& part, ScanReport& whole);

// Findings that one sample can tell of itself.
inline constexpr std::array kFindings = {
    &ScanReport::wrong_extension, &ScanReport::turned,   &ScanReport::grey,
    &ScanReport::alpha,           &ScanReport::cmyk,     &ScanReport::outside,
    &ScanReport::empty,           &ScanReport::inverted, &ScanReport::other_size};

// Leaves the five with the most pixels, the largest first.
void keep_biggest(std::vector<std::pair<std::int64_t, Size>>& list);

}  // namespace plimsoll
