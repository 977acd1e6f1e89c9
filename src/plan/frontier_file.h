// Frontiers kept on disk: finding one takes seconds, reading one takes none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "plan/frontier.h"

namespace plimsoll {

// Changes with everything that a frontier depends on.
std::uint64_t frontier_key(const Problem& problem, const Means& means);

std::string frontier_text(const Frontier& frontier, std::uint64_t key, const Problem& problem);
// Nothing if the text is damaged, of another key or of another version, or holds anything but plans
// of this problem that cost what it says.
std::optional<Frontier> parse_frontier(std::string_view text, std::uint64_t key,
                                       const Problem& problem);

// The frontier from `directory`, or found and put there. A directory that is empty (""), missing or
// read-only is no error: then it is found each time.
Frontier cached_frontier(const Problem& problem, const Means& means,
                         const std::filesystem::path& directory);

}  // namespace plimsoll
