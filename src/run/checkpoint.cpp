#include "run/checkpoint.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "step/averages.h"

namespace plimsoll {
namespace {

constexpr const char* kFormat = "plimsoll 1";
constexpr const char* kOldHint = "it was written by another version of plimsoll";

Metadata metadata_of(const RunIdentity& identity, const RunState& state) {
  Metadata metadata{{"format", kFormat}};
  put(state, metadata);
  for (const auto& [key, value] : identity.is) metadata["run." + key] = value;
  for (const auto& [key, value] : identity.with) metadata["with." + key] = value;
  return metadata;
}

RunIdentity identity_of(const Metadata& metadata) {
  RunIdentity identity;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with("run.")) identity.is[key.substr(4)] = value;
    if (key.starts_with("with.")) identity.with[key.substr(5)] = value;
  }
  return identity;
}

SafetensorsReader open_checkpoint(const std::filesystem::path& path) {
  SafetensorsReader file(path);
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat)
    throw DataError(
        {.where = path.string(),
         .got = format == file.metadata().end() ? "weights of another program"
                                                : "a checkpoint of format '" + format->second + "'",
         .expected = std::string("expected a checkpoint of format '") + kFormat + "'",
         .hint = format == file.metadata().end() ? "weights to begin with are given by --weights"
                                                 : kOldHint});
  return file;
}

std::string value_of(const Metadata& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "none" : found->second;
}

// A network's description is a book.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 200;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

// Keys whose values differ, in order.
std::vector<std::string> differing(const Metadata& a, const Metadata& b) {
  std::vector<std::string> keys;
  for (const Metadata* map : {&a, &b})
    for (const auto& [key, value] : *map)
      if (value_of(a, key) != value_of(b, key) &&
          std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  return keys;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const Trainer& trainer,
                     const RunIdentity& identity, const RunState& state) {
  make_directories(path.parent_path());
  std::vector<NamedTensor> tensors = weight_tensors(trainer.session(), trainer.step_graph());
  for (auto* more : {&slot_tensors, &average_tensors})
    for (NamedTensor& tensor : more(trainer.session(), trainer.step_graph()))
      tensors.push_back(std::move(tensor));
  save_tensors(path, tensors, metadata_of(identity, state), trainer.shards());
}

void save_weights(const std::filesystem::path& path, const Trainer& trainer,
                  const RunIdentity& identity, const RunState& state) {
  make_directories(path.parent_path());
  save_tensors(path, weight_tensors(trainer.session(), trainer.step_graph()),
               metadata_of(identity, state), trainer.shards());
}

Checkpoint::Checkpoint(const std::filesystem::path& path)
    : file(open_checkpoint(path)),
      state(read_state(file.metadata(), path.string())),
      identity(identity_of(file.metadata())) {}

std::vector<SettingChange> compare(const Checkpoint& checkpoint, const RunIdentity& now) {
  std::vector<std::string> refused = differing(checkpoint.identity.is, now.is);
  // What was not written down when it was made cannot be compared.
  std::erase_if(refused, [&](const std::string& k) { return !checkpoint.identity.is.contains(k); });
  if (!refused.empty()) {
    // Others follow from these.
    std::string key = refused[0];
    for (const char* cause : {"pictures", "data", "classes", "seed", "optimizer", "model"})
      if (std::find(refused.begin(), refused.end(), cause) != refused.end()) key = cause;
    throw DataError(
        {.where = checkpoint.file.path().string() + ": " + key,
         .got = "the run there has " + shortened(value_of(checkpoint.identity.is, key)) +
                ", this one " + shortened(value_of(now.is, key)),
         .expected = "expected the same to resume",
         .hint = "another --out begins another run; --weights begins with its weights"});
  }
  std::vector<SettingChange> changes;
  for (const std::string& key : differing(checkpoint.identity.with, now.with)) {
    const bool is_unknown = key == kIsaKey && !checkpoint.identity.with.contains(key);
    if (is_unknown) continue;  // it was not written down once
    changes.push_back({.key = key,
                       .before = value_of(checkpoint.identity.with, key),
                       .now = value_of(now.with, key)});
  }
  return changes;
}

void load_checkpoint(const Checkpoint& checkpoint, const Trainer& trainer) {
  const Session& session = trainer.session();
  const StepGraph& step = trainer.step_graph();
  const Shards shards = trainer.shards();
  load_tensors(checkpoint.file, weight_tensors(session, step), shards);
  start_averages(shards);
  std::vector<NamedTensor> rest;
  for (auto* more : {&slot_tensors, &average_tensors})
    for (NamedTensor& tensor : more(session, step))
      if (checkpoint.file.find(tensor.name) != nullptr) rest.push_back(std::move(tensor));
  load_tensors(checkpoint.file, rest, shards);
}

}  // namespace plimsoll
