#include "data/source/class_numbers.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace plimsoll {

ClassNumbers::ClassNumbers(std::vector<std::string> fixed) : fixed_(std::move(fixed)) {
  for (const std::string& name : fixed_)
    numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size()));
}

std::int32_t ClassNumbers::find_or_add(const std::string& name, std::string_view where) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  if (!fixed_.empty())
    throw DataError(
        {.where = std::string(where),
         .got = "the training data has no class '" + name + "'",
         .expected = "expected one of its " + std::to_string(fixed_.size()) + " classes",
         .hint = did_you_mean(nearest(name, fixed_))});
  return numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size())).first->second;
}

void ClassNumbers::settle(FileSource& source) const {
  if (!fixed_.empty()) return source.finish(fixed_);
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers_) names.push_back(name);
  if (std::ranges::all_of(names, [](const auto& name) { return parse_integer(name).has_value(); }))
    std::ranges::sort(
        names, {}, [](const std::string& name) { return std::pair(*parse_integer(name), name); });
  std::vector<std::int32_t> to(names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    to[static_cast<std::size_t>(numbers_.at(names[i]))] = static_cast<std::int32_t>(i);
  source.relabel(to);
  source.finish(std::move(names));
}

}  // namespace plimsoll
