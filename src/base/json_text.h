// JSON for files and standard output.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll {

// On several lines, with a line end. Bytes that are not UTF-8, in a file's name say, become U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll
