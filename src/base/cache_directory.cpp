#include "base/cache_directory.h"

#include <cstdlib>

namespace plimsoll {

std::filesystem::path cache_directory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "plimsoll";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache" / "plimsoll";
  return {};
}

}  // namespace plimsoll
