// Where things that can be made again are kept between runs.
#pragma once

#include <filesystem>

namespace plimsoll {

// $XDG_CACHE_HOME/plimsoll or ~/.cache/plimsoll; empty when neither can be told. Not created.
std::filesystem::path cache_directory();

}  // namespace plimsoll
