// A folder with a sub-folder per class.
#pragma once

#include <filesystem>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

// By the rules of Keras's ImageDataGenerator.flow_from_directory: every sub-folder is a class, its
// name the class's name, hidden ones too, in the order of their bytes; its samples are all files
// below it whose names end in png, jpg, jpeg or bmp in any case, by folder and then by name. Links
// to folders inside a class are not followed. What is passed over is noted in the index, and apart
// from the rest ppm, tif and tiff, which Keras would read. Where not one file has such a name,
// those that end in webp or gif are taken. With options.class_names every sub-folder must be one of
// them (DataError), and one that is missing has no samples and shifts nothing. DataError if there
// is no such sub-folder or no image in any.
SourcePtr open_class_folders(const std::filesystem::path& folder, const SourceOptions& options);

}  // namespace plimsoll
