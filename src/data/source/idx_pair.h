// Images and labels in two IDX files, named as MNIST names them.
#pragma once

#include <filesystem>

#include "data/source/images.h"
#include "data/source/source.h"

namespace plimsoll {

// Images, grey or with 1 or 3 channels, and as many labels; class_names are left empty. DataError
// if a file is damaged or the two do not fit together.
Images load_idx_pair(const std::filesystem::path& images, const std::filesystem::path& labels);

// Whether the name is that of images, "...-images-idx3-ubyte" (or idx4, with channels last), with
// .gz or without.
bool is_idx_images(const std::filesystem::path& path);

// The images and, beside them, "...-labels-idx1-ubyte". Classes are the numbers from 0 to the
// largest.
SourcePtr open_idx_pair(const std::filesystem::path& images);

// A folder with train-images-idx3-ubyte or, for `test`, t10k-images-idx3-ubyte.
bool has_idx_pair(const std::filesystem::path& folder, bool test);
SourcePtr open_idx_folder(const std::filesystem::path& folder, bool test);

}  // namespace plimsoll
