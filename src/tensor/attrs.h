// Named settings of one call: numbers, words and lists of integers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll {

using Ints = std::vector<std::int64_t>;
using AttrValue = std::variant<std::int64_t, double, std::string, Ints>;

std::string to_string(
    const AttrValue& value);  // 3, 0.5, relu, [2,2]; a double always has '.' or 'e'

// A small map kept in the order of insertion. Reading a name that is absent, or as another type, is
// a bug: names and types are checked against the op's schema when a node is made.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> entries);

  void set(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;

  std::int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  double real(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  const Ints& ints(std::string_view name) const;

  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

}  // namespace plimsoll
