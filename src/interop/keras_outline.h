// Keras's JSON, as little of it as is asked about; for the keras_*.cpp of interop/ only.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace plimsoll::interop {

// Of the networks that Keras has, NASNetLarge has the longest description: a tenth of this.
inline constexpr std::size_t kMostKerasValues = 300'000;
inline constexpr Bytes kLongestKerasJson = 8_MiB;

// Whether brackets lie within more than `limit` others; those of texts do not count.
inline bool is_nested_deeper(std::string_view json, int limit) {
  int depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_text) {
      if (c == '\\') ++i;
      if (c == '"') is_text = false;
    } else if (c == '"') {
      is_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limit) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// Of a description, a training_config or metadata.json: which layers there are, what they were
// compiled with, and the version. All else, and what is beyond all models, is left out while it is
// read: memory does not grow with it. Discarded if it is no JSON, or nested deeper than any model
// is.
inline nlohmann::json parse_keras_outline(std::string_view text) {
  using nlohmann::json;
  constexpr int kMaxDepth = 256;
  if (is_nested_deeper(text, kMaxDepth)) return json::value_t::discarded;
  return json::parse(
      text,
      [values = std::size_t{0}](int, json::parse_event_t event, json& parsed) mutable {
        if (event == json::parse_event_t::value) return ++values <= kMostKerasValues;
        constexpr std::array<std::string_view, 13> kKeys = {
            "class_name",       "config",   "layers",         "name",
            "trainable",        "scale",    "compile_config", "optimizer",
            "optimizer_config", "momentum", "keras_version",  "modelTopology",
            "model_config"};
        return event != json::parse_event_t::key ||
               std::ranges::find(kKeys, parsed.get_ref<const std::string&>()) != kKeys.end();
      },
      false);
}

}  // namespace plimsoll::interop
