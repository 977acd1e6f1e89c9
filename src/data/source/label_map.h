// Names of classes by number: label_map.pbtxt of the Object Detection API, and plain lists.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace plimsoll {

using LabelMap = std::map<std::int64_t, std::string>;

// Reads `item { id: 1 name: 'cat' display_name: "Cat" }`: display_name where there is no name;
// other fields, nested ones too, are passed over; # begins a comment. DataError with the line on
// anything else, on an item without id or name and on a number given twice.
LabelMap parse_label_map(std::string_view text, std::string_view where);

// Reads a name per line, numbered from 0; "3:daisy" gives the number itself. Empty lines are passed
// over. DataError with the line on a number given twice.
LabelMap parse_label_list(std::string_view text, std::string_view where);

// One or the other, by what the file holds. At most 16 MiB.
LabelMap load_label_map(const std::filesystem::path& path);

}  // namespace plimsoll
