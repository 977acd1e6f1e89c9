#include "base/error.h"
#include "base/files.h"
#include "format/zip.h"
#include "interop/keras_json.h"
#include "interop/keras_outline.h"
#include "interop/keras_store.h"
#include "interop/readers.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

const ZipEntry& entry_of(const ZipReader& zip, std::string_view name) {
  const ZipEntry* entry = zip.find(name);
  if (entry == nullptr)
    throw DataError({.where = zip.file().path.string(),
                     .got = "an archive without '" + std::string(name) + "'",
                     .expected = "expected what Keras writes as .keras: metadata.json, config.json "
                                 "and model.weights.h5"});
  return *entry;
}

}  // namespace

bool is_keras_archive(const ZipReader& zip) {
  return zip.find("metadata.json") != nullptr && zip.find("config.json") != nullptr;
}

ImportedFile open_keras_archive(const std::filesystem::path& path) {
  const ZipReader zip(path);
  ImportedFile file{.path = path, .format = "Keras archive"};
  file.version =
      text_at(parse_keras_outline(zip.read(entry_of(zip, "metadata.json"), kLongestKerasJson)),
              "keras_version");
  file.description = zip.read(entry_of(zip, "config.json"), kLongestKerasJson);
  const ZipEntry& weights = entry_of(zip, "model.weights.h5");
  if (!weights.is_stored)
    throw DataError({.where = path.string() + ": entry '" + weights.name + "'",
                     .got = "it is compressed",
                     .expected = "expected it stored, as Keras does",
                     .hint = "unpack the archive and give model.weights.h5 itself"});
  read_keras_store(file, std::make_shared<const Hdf5File>(path, weights.offset, weights.bytes),
                   file.description);
  return file;
}

ImportedFile open_keras_json(const std::filesystem::path& path) {
  ImportedFile file{
      .path = path, .format = "Keras JSON", .description = read_file(path, kLongestKerasJson)};
  const json parsed = parse_keras_outline(file.description);
  const auto has = [&](const char* key) { return parsed.is_object() && parsed.contains(key); };
  if (!has("class_name") && !has("modelTopology") && !has("model_config"))
    throw DataError({.where = path.string(),
                     .got = parsed.is_discarded() ? "text that is no JSON" : "JSON of another kind",
                     .expected = "expected a network as Keras's to_json() writes it"});
  file.version = text_at(parsed, "keras_version");
  return file;
}

}  // namespace plimsoll::interop
