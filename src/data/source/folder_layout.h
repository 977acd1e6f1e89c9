// How a folder of pictures is laid out, by its looks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/source/parts.h"
#include "data/source/source_options.h"
#include "data/source/voc.h"

namespace plimsoll {

struct FolderLayout {
  enum class Kind {
    classes,  // a folder per class
    parts,    // train, val, test: `choice` has the one to read
    xml,      // an XML file per picture: `xml`
    list,     // a CSV of pictures: `list`
    flat,     // pictures, and nothing that tells their classes
  };
  Kind kind = Kind::classes;
  PartChoice choice;
  VocFolders xml;
  std::filesystem::path list;
};

// Looks at names and at the beginnings of a few files, two folders deep. DataError that tells both
// readings, and the option that settles it, where a folder can be taken for two of these;
// UsageError if options ask for a part or for boxes that it does not have.
FolderLayout find_layout(const std::filesystem::path& folder, const SourceOptions& options);

}  // namespace plimsoll
