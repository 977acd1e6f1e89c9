// The pictures that `predict` was asked about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source/source.h"

namespace plimsoll::cli {

struct PictureFiles {
  SourcePtr source;                        // may be empty
  std::vector<Complaint> missing;          // what is not there
  std::vector<std::uint32_t> name_begins;  // by Source::number: behind the folder that was named

  // A file's path below the folder that was named; its name alone where the file itself was.
  std::filesystem::path relative(std::int64_t number, const std::string& path) const;
};

// Files as they are, folders with all pictures below them, patterns that the shell left alone.
PictureFiles list_pictures(const std::vector<std::string>& words);

}  // namespace plimsoll::cli
