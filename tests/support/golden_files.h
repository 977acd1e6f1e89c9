// Where the files lie that tools/golden makes.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

// `name`: "torch/old.pth".
inline std::filesystem::path golden_file(const std::string& name) {
  return std::filesystem::path(PLIMSOLL_TESTS_DIR) / "golden" / name;
}

}  // namespace plimsoll
