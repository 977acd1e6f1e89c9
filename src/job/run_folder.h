// The directory of a run: a new one, or one whose run goes on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "job/run_settings.h"

namespace plimsoll::job {

struct RunFolder {
  std::filesystem::path path;
  FileLock lock;                           // no other run may use it meanwhile
  std::unique_ptr<Checkpoint> checkpoint;  // null: a new run
  std::vector<SettingChange> changes;      // since the checkpoint
};

// RUN/weights/last.safetensors, from which a run goes on.
std::filesystem::path last_checkpoint(const std::filesystem::path& folder);

// The folder that --out or --resume names; else the newest of runs/<model>* in which the very same
// run was left unfinished; else a new one. DataError if another process uses it, or another run
// is in it, naming the difference.
RunFolder open_run_folder(const RunSettings& settings);

}  // namespace plimsoll::job
