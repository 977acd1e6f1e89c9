// Sets that are published in parts: folders, shards and lists named train, val and test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

// The part that a word or a name tells of: "train", "val" or "test"; empty if none, or several. A
// word of the name has to say it ("x_train.csv", "Validation", "pets-test.tfrecord-00000-of-00010",
// "train2017"), not a piece of one ("trainers").
std::string part_of(std::string_view name);

// Files or folders of one part, among those of all.
struct PartChoice {
  std::string part;                // empty: the names tell of no parts, and all are taken
  std::vector<std::string> parts;  // that there are, in the order train, val, test
  std::vector<std::filesystem::path> chosen;
  std::vector<std::string> others = {};  // names that tell of no part, left out where one is taken
};

// The part that options ask for; else the first of options.preferred_parts that is there, if the
// names tell of several parts. Whatever tells of no part belongs to none. UsageError, with what
// there is, if none is of the part asked for.
PartChoice choose_part(const std::vector<std::filesystem::path>& from, const SourceOptions& options,
                       std::string_view where);

// The UsageError for a part that was asked for in a set that has no parts, or not this one.
UsageError no_such_part(const SourceOptions& options, std::string_view where,
                        const std::vector<std::string>& parts);

// The source, with which part it is in its index, and a note for people. Itself if there are none.
SourcePtr name_part(SourcePtr source, const PartChoice& choice);

}  // namespace plimsoll
