// From what records say about classes to class numbers and names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/annotations.h"
#include "data/source/label_map.h"

namespace plimsoll {

// Collects labels while records are read; names are settled when all have been seen.
class RecordLabels {
 public:
  // `map`: numbers to names, may be empty. `class_names`: the training set's, may be empty.
  RecordLabels(LabelMap map, std::vector<std::string> class_names, std::int64_t first_label);

  // The provisional class of a number or of a name; nothing if there can be none (a negative
  // number, one that the map or the names do not have, a number where others had names only).
  std::optional<std::int32_t> find(std::int64_t number, std::string_view name);
  std::optional<std::int32_t> find(std::string_view name);
  // What records lack or contradict each other in, for people. To be called when all is settled.
  std::vector<std::string> notes() const;
  // What find() accepts, for messages.
  std::string expected() const;

  // Gives every label its final number and returns the names in that order.
  std::vector<std::string> settle(Annotations& annotations);

 private:
  std::map<std::int64_t, std::int32_t> by_number_;  // from the map
  std::map<std::string, std::int32_t, std::less<>> by_name_;
  std::vector<std::string> fixed_;            // all names are known before
  std::map<std::int32_t, std::string> seen_;  // names that came with numbers
  std::map<std::int32_t, std::string> also_;  // the first other name that came with the same
  std::int64_t first_label_;
  std::int64_t unnamed_ = 0;  // classes of which only the number is known
  // What labels came as, where no list or map says what both mean: one excludes the other.
  bool has_numbers_ = false;
  bool has_names_ = false;
};

}  // namespace plimsoll
