// From the names of classes, as they are met, to numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/file_source.h"

namespace plimsoll {

// Numbers names in the order in which they come; their order among each other is settled when all
// have been seen, and is the same for every order of coming.
class ClassNumbers {
 public:
  // `fixed`: the training set's names in their order; empty: every name is a class.
  explicit ClassNumbers(std::vector<std::string> fixed);

  // The number for now. DataError, with the name most like it, if the training set has none such.
  std::int32_t find_or_add(const std::string& name, std::string_view where);

  // Gives the source its names, in their order (by value if all are whole numbers), and every label
  // its final number.
  void settle(FileSource& source) const;

 private:
  std::vector<std::string> fixed_;
  std::map<std::string, std::int32_t> numbers_;
};

}  // namespace plimsoll
