// Real files that are not part of the tree: `shared/data` beside any folder above the tests, or
// where PLIMSOLL_SHARED_DATA says.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace plimsoll::tests {

// The path of `name` in it; nothing if it is not there.
inline std::optional<std::filesystem::path> find_shared_data(std::string_view name) {
  namespace fs = std::filesystem;
  const auto if_there = [](const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error) ? std::optional(path) : std::nullopt;
  };
  if (const char* said = std::getenv("PLIMSOLL_SHARED_DATA"))
    return if_there(fs::path(said) / name);
  fs::path folder = fs::path(PLIMSOLL_TESTS_DIR);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (const auto path = if_there(folder / "shared" / "data" / name)) return path;
  }
  return std::nullopt;
}

}  // namespace plimsoll::tests

// Defines `variable` as the path of `name`, or skips the test and says why.
#define SHARED_DATA_OR_SKIP(variable, name)                                                      \
  if (!::plimsoll::tests::find_shared_data(name))                                                \
    GTEST_SKIP() << "no shared/data/" << (name) << " beside the tree; set PLIMSOLL_SHARED_DATA"; \
  const std::filesystem::path variable = *::plimsoll::tests::find_shared_data(name)
