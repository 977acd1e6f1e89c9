#include "run/run_status.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "base/memory_usage.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr Bytes kLargestStatus = 1_MiB;
constexpr double kLargestWhole = 9e15;  // whole numbers up to here are exact as doubles

// Reads keys of one object; says which key is wrong.
class Fields {
 public:
  Fields(const Json& object, const std::string& where) : object_(object), where_(where) {
    if (!object.is_object()) fail("", "an object");
  }

  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) fail(key, "a text");
    return value->get<std::string>();
  }
  std::optional<double> number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) fail(key, "a number or null");
    return value->get<double>();
  }
  std::optional<std::int64_t> whole(const char* key) const {
    const std::optional<double> value = number(key);
    if (!value) return std::nullopt;
    if (std::abs(*value) > kLargestWhole) fail(key, "a whole number below 9e15");
    return static_cast<std::int64_t>(*value);
  }
  std::optional<Bytes> bytes(const char* key) const {
    const std::optional<std::int64_t> value = whole(key);
    if (!value) return std::nullopt;
    if (*value < 0) fail(key, "a size");
    return Bytes{*value};
  }
  // Null where there is no such key, or null stands there.
  const Json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& wanted) const {
    throw DataError({.where = where_,
                     .got = key.empty() ? "is no object" : "'" + key + "' is not " + wanted,
                     .expected = "expected the status of a run",
                     .hint = "it is replaced while the run lives; one that ended leaves its last"});
  }

 private:
  const Json& object_;
  const std::string& where_;
};

std::optional<Bytes> resident_of(std::int64_t pid) {
  try {
    return parse_memory_usage(read_system_file("/proc/" + std::to_string(pid) + "/status"))
        .resident;
  } catch (const DataError&) {
    return std::nullopt;  // it has just ended, or lives in another container
  }
}

std::string name_of(const fs::directory_entry& entry) { return entry.path().filename().string(); }

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// Entries of a folder; those that cannot be read are as if they were not there.
template <typename Visit>
void each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    visit(*entry);
}

// Folders of runs that a process of this user has open: the one whose pid stands in the lock, not
// those that inherited the descriptor from it.
std::set<fs::path> locked_folders() {
  std::set<fs::path> folders;
  each_entry("/proc", [&](const fs::directory_entry& process) {
    const std::string pid = name_of(process);
    struct stat status {};
    if (!is_number(pid) || ::stat(process.path().c_str(), &status) != 0 ||
        status.st_uid != ::geteuid())
      return;
    each_entry(process.path() / "fd", [&](const fs::directory_entry& descriptor) {
      std::error_code error;
      const fs::path target = fs::read_symlink(descriptor.path(), error);
      if (error || target.filename() != "run.lock") return;
      const std::optional<long> holder = find_lock_holder(target);
      if (holder && std::to_string(*holder) == pid) folders.insert(target.parent_path());
    });
  });
  return folders;
}

std::set<fs::path> recent_folders(const fs::path& parent) {
  std::set<fs::path> folders;
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  each_entry(parent, [&](const fs::directory_entry& entry) {
    std::error_code error;
    const auto changed = fs::last_write_time(entry.path() / "status.json", error);
    if (!error && changed > yesterday) folders.insert(fs::canonical(entry.path(), error));
  });
  return folders;
}

// As short as the working directory allows.
fs::path shown_path(const fs::path& folder) {
  std::error_code error;
  const fs::path near = fs::proximate(folder, error);
  return error || near.empty() || *near.begin() == ".." ? folder : near;
}

}  // namespace

std::string_view to_string(RunCondition condition) {
  switch (condition) {
    case RunCondition::running: return "running";
    case RunCondition::ended: return "ended";
    case RunCondition::crashed: return "crashed";
    case RunCondition::unreadable: break;
  }
  return "unreadable";
}

nlohmann::ordered_json to_json(const RankStatus& rank) {
  return {{"host", rank.host},
          {"doing", rank.doing},
          {"step", rank.step},
          {"resident_bytes", rank.resident.count},
          {"step_seconds", rank.step_seconds},
          {"wait_data", rank.data_seconds},
          {"wait_others", rank.others_seconds},
          {"silent_seconds", rank.silent_seconds}};
}

RunStatus parse_run_status(const std::string& text, const std::string& where) {
  RunStatus status;
  try {
    status.json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw DataError({.where = where,
                     .got = "is not JSON (" + std::string(error.what()) + ")",
                     .expected = "expected the status of a run"});
  }
  const Fields fields(status.json, where);
  const std::optional<std::int64_t> pid = fields.whole("pid");
  if (!pid) fields.fail("pid", "there");
  status.pid = *pid;
  status.state = fields.text("state");
  if (status.state.empty()) fields.fail("state", "there");
  status.model = fields.text("model");
  status.data = fields.text("data");
  status.stopped_by = fields.text("stopped_by");
  status.epoch = fields.whole("epoch");
  status.epochs = fields.whole("epochs");
  status.step = fields.whole("step");
  status.steps = fields.whole("steps");
  status.loss = fields.number("loss");
  status.accuracy = fields.number("accuracy");
  status.val_accuracy = fields.number("val_accuracy");
  status.lr = fields.number("lr");
  status.images_per_second = fields.number("images_per_second");
  status.data_wait_percent = fields.number("data_wait_percent");
  status.eta_seconds = fields.number("eta_seconds");
  status.budget = fields.bytes("budget_bytes");
  status.predicted = fields.bytes("predicted_bytes");
  status.resident = fields.bytes("resident_bytes");
  status.peak = fields.bytes("peak_bytes");
  status.started = fields.number("started");
  status.updated = fields.number("updated");
  if (const Json* ledger = fields.find("ledger")) {
    if (!ledger->is_array()) fields.fail("ledger", "a list");
    for (const Json& entry : *ledger) {
      const Fields line(entry, where);
      status.ledger.push_back({line.text("line"), line.bytes("bytes").value_or(Bytes{0}).count});
    }
  }
  if (const Json* ranks = fields.find("ranks")) {
    if (!ranks->is_array()) fields.fail("ranks", "a list");
    for (const Json& entry : *ranks) {
      const Fields rank(entry, where);
      status.ranks.push_back({.host = rank.text("host"),
                              .doing = rank.text("doing"),
                              .step = rank.whole("step").value_or(0),
                              .resident = rank.bytes("resident_bytes").value_or(Bytes{0}),
                              .step_seconds = rank.number("step_seconds").value_or(0),
                              .data_seconds = rank.number("wait_data").value_or(0),
                              .others_seconds = rank.number("wait_others").value_or(0),
                              .silent_seconds = rank.number("silent_seconds").value_or(0)});
    }
  }
  return status;
}

SeenRun look_at_run(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "status.json", error))
    throw DataError(
        {.where = folder.string(),
         .got = fs::is_directory(folder, error) ? "has no status.json" : "there is no such folder",
         .expected = "expected the directory of a run",
         .hint = "`plimsoll top` alone lists the runs it finds"});
  // Asked first: a run that ends in between has written its last status by then.
  const bool is_held = find_lock_holder(folder / "run.lock").has_value();
  SeenRun run{.folder = folder};
  const fs::path path = folder / "status.json";
  run.status = parse_run_status(read_file(path, kLargestStatus), path.string());
  const std::string& state = run.status->state;
  run.condition = is_held                                 ? RunCondition::running
                  : state == "done" || state == "stopped" ? RunCondition::ended
                                                          : RunCondition::crashed;
  if (is_held) run.resident_now = resident_of(run.status->pid);
  return run;
}

std::vector<SeenRun> find_runs() {
  std::set<fs::path> folders = locked_folders();
  folders.merge(recent_folders("runs"));
  std::vector<SeenRun> runs;
  for (const fs::path& folder : folders) {
    if (folder.empty()) continue;
    try {
      runs.push_back(look_at_run(folder));
    } catch (const Error& error) {
      runs.push_back({.problem = error.complaint().got});
    }
    runs.back().folder = shown_path(folder);
  }
  return runs;
}

}  // namespace plimsoll
