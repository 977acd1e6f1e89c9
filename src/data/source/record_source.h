// Samples that are records of TFRecord files.
#pragma once

#include <filesystem>
#include <vector>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

// Lists the records of all shards, in the order given: one pass that checks every checksum and
// parses every Example, with the memory of one record beside the index of 28 bytes per record (and
// its boxes). Compressed shards are unpacked into options.cache first; without one, UsageError.
// Records that are damaged, no Examples, or lack the image or the label become defects one by one,
// as do the rest of a file whose framing is lost and a file that cannot be unpacked. Classes:
// options.class_names, or a label map (options.label_map, else the one beside the shards), or the
// names that the records carry, or the numbers. DataError if no sample is left.
SourcePtr open_records(const std::vector<std::filesystem::path>& shards,
                       const SourceOptions& options);

// Whether a folder's file is named like a shard: "x.tfrecord", "x.record", "x-00000-of-00010", with
// .gz and .zlib behind it or not.
bool is_shard_name(std::string_view name);

}  // namespace plimsoll
