// Pictures to PNG files.
#pragma once

#include <filesystem>

#include "data/picture.h"

namespace plimsoll {

// Grey or RGB. The file appears whole or not at all. DataError if it cannot be written.
void write_png(const std::filesystem::path& path, const Picture& picture);

}  // namespace plimsoll
