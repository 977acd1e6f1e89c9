// The directory of a run: a new one, or one whose run goes on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "cli/run_settings.h"

namespace plimsoll::cli {

struct RunFolder {
  std::filesystem::path path;
  FileLock lock;                           // no other run may use it meanwhile
  std::unique_ptr<Checkpoint> checkpoint;  // null: a new run
  std::vector<std::string> changes;        // against the checkpoint's settings, for people
};

// The folder that --out or --resume names; else the newest of runs/<model>* in which the very same
// run was left unfinished; else a new one. DataError if another process uses it, or another run
// is in it, naming the difference.
RunFolder open_run_folder(const RunSettings& settings);

}  // namespace plimsoll::cli
