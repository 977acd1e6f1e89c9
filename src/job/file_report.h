// What a file of weights or of a network is, without running anything of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/match.h"
#include "job/model_settings.h"

namespace plimsoll::job {

struct FileReport {
  interop::ImportedFile file;
  std::string model;         // the network it is of, as far as it tells or was asked for
  std::string about;         // of what kind: "of the zoo", "described by the file"
  std::int64_t tensors = 0;  // with weights; an optimizer's are not counted
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;     // of those, as stored
  std::int64_t classes = 0;   // 0: not known
  std::string image;          // "299x299x3": what the network takes; empty: not known
  std::string preprocessing;  // empty: not known
  // Against the network's own weights; empty where no network is known.
  interop::Matching matching;
  std::string refused;  // why the network cannot be built; empty: it can, or none is known
};

// `asked.model`, where it is not empty, is the network to compare with. DataError, UsageError.
FileReport describe_file(const std::string& path, const ModelSettings& asked);

}  // namespace plimsoll::job
