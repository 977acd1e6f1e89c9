// Keras's JSON read with care: sizes, depths and types are whatever a file says.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nn/nn.h"

namespace plimsoll::interop {

// DataError that names `where` and the byte if it is no JSON, or nests deeper than any network.
nlohmann::json parse_keras_json(std::string_view text, const std::string& where);

// The text under `key`; empty if there is none, or `object` is no object.
std::string text_at(const nlohmann::json& object, const char* key);

// A list without its wrapper: {"class_name": "__tuple__", "items": [...]} is its items.
const nlohmann::json& without_tuple(const nlohmann::json& value);

// What a layer's `config` says. Every question names the words of all versions of Keras, newest
// first; null counts as not there. UsageError that names the layer and the word when the answer has
// another type or is out of bounds: what is within them cannot overflow a network's sizes.
class KerasSettings {
 public:
  using Words = std::initializer_list<std::string_view>;
  // `config` must stay alive. `place`: "model.json: layer 'a' (Conv2D)".
  KerasSettings(const nlohmann::json& config, std::string place)
      : config_(config), place_(std::move(place)) {}

  const nlohmann::json* find(Words words) const;
  bool has(Words words) const { return find(words) != nullptr; }

  std::int64_t count(Words words, std::int64_t most) const;  // 1 to `most`, must be there
  double real(Words words, double otherwise) const;
  bool flag(Words words, bool otherwise) const;
  std::string word(Words words, std::string_view otherwise) const;
  // One number for both directions or two, each 1 to `most`.
  nn::Size2 size(Words words, nn::Size2 otherwise, std::int64_t most = 1 << 12) const;
  // [top, left, bottom, right] of Keras's n, [rows, columns] or [[top, bottom], [left, right]].
  Ints borders(Words words) const;
  // Dimensions, at most four; -1 stands for null and -1.
  Ints shape(Words words) const;

  const std::string& place() const { return place_; }
  [[noreturn]] void refuse(const std::string& got, const std::string& expected,
                           const std::string& hint = "") const;

 private:
  const nlohmann::json& needed(Words words) const;
  std::int64_t number(const nlohmann::json& value, std::string_view word, std::int64_t least,
                      std::int64_t most) const;

  const nlohmann::json& config_;
  std::string place_;
};

}  // namespace plimsoll::interop
