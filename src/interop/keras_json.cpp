#include "interop/keras_json.h"

#include <cmath>

#include "base/error.h"
#include "interop/keras_outline.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

constexpr int kDeepest = 200;
constexpr std::int64_t kWidestBorder = 1 << 12;
constexpr std::int64_t kLargestDimension = 1 << 24;

// A value as a message shows it.
std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return text;
}

// Events are not wanted, only how many there are, since values take far more memory than their
// text, and how deep they nest: json's own copying and printing are recursive.
class Bounds {
 public:
  explicit Bounds(const std::string& where) : where_(where) {}
  bool operator()(int depth, json::parse_event_t event, json&) {
    if (depth > kDeepest)
      refuse("JSON that nests deeper than " + std::to_string(kDeepest) + " levels");
    if (event == json::parse_event_t::value && ++values_ > kMostKerasValues)
      refuse("JSON of more than " + std::to_string(kMostKerasValues) + " values");
    return true;
  }

 private:
  [[noreturn]] void refuse(const std::string& got) const {
    throw DataError(
        {.where = where_, .got = got, .expected = "expected Keras's description of a network"});
  }
  const std::string& where_;
  std::size_t values_ = 0;
};

}  // namespace

json parse_keras_json(std::string_view text, const std::string& where) {
  try {
    return json::parse(text, Bounds(where));
  } catch (const json::parse_error& error) {
    throw DataError({.where = where + ": byte " + std::to_string(error.byte),
                     .got = "the description of the network is no JSON",
                     .expected = "expected what Keras's to_json() gives"});
  } catch (const json::exception&) {
    throw DataError({.where = where,
                     .got = "a number in the description of the network is out of range",
                     .expected = "expected what Keras's to_json() gives"});
  }
}

std::string text_at(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json& without_tuple(const json& value) {
  if (!value.is_object()) return value;
  const auto items = value.find("items");
  const auto name = value.find("class_name");
  const bool wraps = name != value.end() && items != value.end() && *name == "__tuple__";
  return wraps ? *items : value;
}

const json* KerasSettings::find(Words words) const {
  if (!config_.is_object()) return nullptr;
  for (const std::string_view word : words) {
    const auto found = config_.find(word);
    if (found != config_.end() && !found->is_null()) return &without_tuple(*found);
  }
  return nullptr;
}

void KerasSettings::refuse(const std::string& got, const std::string& expected,
                           const std::string& hint) const {
  throw UsageError({.where = place_, .got = got, .expected = expected, .hint = hint});
}

const json& KerasSettings::needed(Words words) const {
  const json* found = find(words);
  if (found == nullptr)
    refuse("it has no '" + std::string(*words.begin()) + "'", "expected a layer of Keras");
  return *found;
}

std::int64_t KerasSettings::number(const json& value, std::string_view word, std::int64_t least,
                                   std::int64_t most) const {
  // Keras 1 wrote some whole numbers as 3.0.
  const double real = value.is_number() ? value.get<double>() : std::nan("");
  if (!(real >= static_cast<double>(least) && real <= static_cast<double>(most)) ||
      real != std::floor(real))
    refuse(std::string(word) + " is " + shown(value),
           "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<std::int64_t>(real);
}

std::int64_t KerasSettings::count(Words words, std::int64_t most) const {
  return number(needed(words), *words.begin(), 1, most);
}

double KerasSettings::real(Words words, double otherwise) const {
  const json* found = find(words);
  if (found == nullptr) return otherwise;
  if (!found->is_number() || !std::isfinite(found->get<double>()))
    refuse(std::string(*words.begin()) + " is " + shown(*found), "expected a number");
  return found->get<double>();
}

bool KerasSettings::flag(Words words, bool otherwise) const {
  const json* found = find(words);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean() && !found->is_number_integer())
    refuse(std::string(*words.begin()) + " is " + shown(*found), "expected true or false");
  return found->is_boolean() ? found->get<bool>() : found->get<std::int64_t>() != 0;
}

std::string KerasSettings::word(Words words, std::string_view otherwise) const {
  const json* found = find(words);
  if (found == nullptr) return std::string(otherwise);
  if (!found->is_string())
    refuse(std::string(*words.begin()) + " is " + shown(*found), "expected a word");
  return found->get<std::string>();
}

nn::Size2 KerasSettings::size(Words words, nn::Size2 otherwise, std::int64_t most) const {
  const json* found = find(words);
  if (found == nullptr) return otherwise;
  const std::string_view word = *words.begin();
  if (!found->is_array()) return number(*found, word, 1, most);
  if (found->size() != 2)
    refuse(std::string(word) + " is " + shown(*found), "expected one or two numbers");
  return {number((*found)[0], word, 1, most), number((*found)[1], word, 1, most)};
}

Ints KerasSettings::borders(Words words) const {
  const json& value = needed(words);
  const std::string_view word = *words.begin();
  const auto border = [&](const json& cells) { return number(cells, word, 0, kWidestBorder); };
  if (value.is_number()) {
    const std::int64_t all = border(value);
    return {all, all, all, all};
  }
  if (!value.is_array() || (value.size() != 2 && value.size() != 4))
    refuse(std::string(word) + " is " + shown(value), "expected ((top, bottom), (left, right))");
  // Keras 1 also took [top, bottom, left, right].
  if (value.size() == 4)
    return {border(value[0]), border(value[2]), border(value[1]), border(value[3])};
  Ints both[2];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const json& side = without_tuple(value[axis]);
    if (side.is_array() && side.size() != 2)
      refuse(std::string(word) + " is " + shown(value), "expected ((top, bottom), (left, right))");
    both[axis] =
        side.is_array() ? Ints{border(side[0]), border(side[1])} : Ints{border(side), border(side)};
  }
  return {both[0][0], both[1][0], both[0][1], both[1][1]};
}

Ints KerasSettings::shape(Words words) const {
  const json& value = needed(words);
  const std::string_view word = *words.begin();
  if (!value.is_array() || value.empty() || value.size() > 4)
    refuse(std::string(word) + " is " + shown(value), "expected one to four dimensions");
  Ints dims;
  for (const json& dim : value)
    dims.push_back(dim.is_null() ? -1 : number(dim, word, -1, kLargestDimension));
  return dims;
}

}  // namespace plimsoll::interop
