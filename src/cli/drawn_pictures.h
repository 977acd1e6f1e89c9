// Pictures with what was found in them drawn on, one at a time in memory that is known before.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/codec/decode.h"
#include "data/scan/scan.h"
#include "task/task.h"

namespace plimsoll::cli {

class DrawnPictures {
 public:
  // What it holds where every picture of the source is to be drawn; the scan was for 3 channels.
  static Bytes needed(const Source& source, const ScanReport& report);

  // Holds `memory` from here on. `source` must outlive it.
  DrawnPictures(std::filesystem::path folder, const Source& source, const ScanReport& report,
                Bytes memory);

  // Draws sample i upright and as large as it is, and writes it as PNG to `relative` below the
  // folder; the ending becomes .png, and -2, -3, ... is added where a name is taken. DataError if
  // the picture can no longer be read, needs more than the memory that there is, or cannot be
  // written; UsageError if it would be written beside the original.
  void draw(std::int64_t i, const std::filesystem::path& relative,
            const std::vector<Prediction>& found);

 private:
  std::filesystem::path target_for(std::int64_t i, const std::filesystem::path& relative);

  std::filesystem::path folder_;
  const Source& source_;
  MappedBytes encoded_;
  Room room_;
  Decoder decoder_;
  std::set<std::filesystem::path> taken_;
};

}  // namespace plimsoll::cli
