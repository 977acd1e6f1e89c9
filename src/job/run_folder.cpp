#include "job/run_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "run.lock";
constexpr Bytes kLargestReport{1 << 20};

FileLock claim(const fs::path& folder) {
  make_directories(folder);
  std::optional<FileLock> lock = FileLock::take(folder / kLock);
  if (lock) return std::move(*lock);
  const std::optional<long> holder = find_lock_holder(folder / kLock);
  throw DataError({.where = folder.string(),
                   .got = "process " + std::to_string(holder.value_or(0)) + " is training there",
                   .expected = "expected a run directory of its own",
                   .hint = "`plimsoll top` shows it; another --out begins another run"});
}

// Whether the run there was cut short: interrupted, killed (before it told anything, perhaps), or
// it lost its power.
bool is_unfinished(const fs::path& folder) {
  try {
    const auto status = nlohmann::json::parse(read_file(folder / "status.json", kLargestReport));
    const std::string state = status.value("state", "");
    return state != "done" && status.value("stopped_by", nlohmann::json()) != "diverged";
  } catch (const std::exception&) {
    return true;
  }
}

// The newest unfinished run of the very same kind, if any.
fs::path find_unfinished(const RunSettings& settings) {
  const std::string title = settings.model.title();
  fs::path best;
  fs::file_time_type newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("runs", error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(title) ||
        name.find_first_not_of("0123456789", title.size()) != std::string::npos ||
        !fs::exists(last_checkpoint(entry.path()), error) || !is_unfinished(entry.path()) ||
        find_lock_holder(entry.path() / kLock))
      continue;
    try {
      const Checkpoint checkpoint(last_checkpoint(entry.path()));
      if (!compare(checkpoint, settings.run.identity).empty()) continue;
    } catch (const DataError&) {
      continue;  // another run's, or damaged: not for us to take
    }
    const fs::file_time_type time = fs::last_write_time(last_checkpoint(entry.path()), error);
    if (best.empty() || time > newest) {
      best = entry.path();
      newest = time;
    }
  }
  return best;
}

}  // namespace

fs::path last_checkpoint(const fs::path& folder) { return folder / "weights" / "last.safetensors"; }

RunFolder open_run_folder(const RunSettings& settings) {
  fs::path path = settings.out;
  if (path.empty() && !settings.fresh) path = find_unfinished(settings);
  if (path.empty()) path = make_unique_directory("runs", settings.model.title());
  RunFolder folder{.path = path, .lock = claim(path)};
  if (!fs::exists(last_checkpoint(path))) {
    if (!settings.resume.empty())
      throw DataError({.where = path.string(),
                       .got = "there is no weights/last.safetensors",
                       .expected = "expected the directory of a run that has saved",
                       .hint = "without --resume, --out begins a run there"});
    return folder;
  }
  if (settings.fresh)
    throw DataError({.where = path.string(),
                     .got = "a run is in it",
                     .expected = "expected a new directory with --fresh"});
  folder.checkpoint = std::make_unique<Checkpoint>(last_checkpoint(path));
  folder.changes = compare(*folder.checkpoint, settings.run.identity);
  return folder;
}

}  // namespace plimsoll::job
