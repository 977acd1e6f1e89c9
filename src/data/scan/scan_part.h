// What one of several processes found of its share of a scan, for the others.
#pragma once

#include <string>
#include <string_view>

#include "data/scan/scan.h"

namespace plimsoll {

// Samples [begin, end) of a source.
struct ScanRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};
// Share `share` of `shares`; all of them are all samples.
ScanRange range_of_share(std::int64_t samples, int share, int shares);

// What was found of `range` before anything was settled, with the contents of its samples.
std::string pack_part(const ScanReport& part, const ScanRange& range);
// Why there is nothing.
std::string pack_failure(const Complaint& complaint);
// Adds what another process packed to the whole. DataError: that process's complaint, or, naming
// `where`, for bytes that are no such part.
void merge_packed(std::string_view bytes, const ScanRange& range, const std::string& where,
                  ScanReport& whole);

}  // namespace plimsoll
