// From the word DATA on the command line to a source.
#pragma once

#include <string>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

// What `data` names: the word fashion-mnist; a folder with a sub-folder per class; TFRecord files
// by name, pattern (*, ?, []) or folder; a CSV of path,label or of boxes; an IDX file of images
// with its labels beside it, or a folder of such; a Pascal VOC folder, or one list of its
// ImageSets, or XML files and pictures in folders of other names; a COCO JSON file or its folder; a
// folder of parts (train, val, test), each any of these. DataError that says what was found there
// and what could have been; UsageError if an option is missing that this kind needs.
SourcePtr open_source(const std::string& data, const SourceOptions& options = {});

}  // namespace plimsoll
