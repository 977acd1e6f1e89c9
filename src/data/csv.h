// Lists of images in text: path,label.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"
#include "data/source_options.h"

namespace plimsoll {

struct CsvRow {
  std::int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

// Reads rows one by one by RFC 4180: fields in quotes may hold separators, line ends and doubled
// quotes; lines end in LF or CRLF; empty lines and a byte order mark are passed over. DataError
// with the line on a quote that does not end, text behind a closing quote, or a field above 1 MiB.
void read_csv(std::string_view text, char separator, std::string_view where,
              const std::function<void(const CsvRow&)>& on_row);

// Images listed as path,label, paths relative to the list's folder. A first row is a header if it
// names the columns (path, file, filename, image, ...; label, class, category, ...), in any order
// and among others. Classes are the labels in the order of their names, or of their numbers if all
// are numbers ("2" before "12"). Rows without two fields, files that are not there and labels that
// are not among options.class_names become defects. *.tsv is separated by tabs. At most 1 GiB.
SourcePtr open_csv(const std::filesystem::path& path, const SourceOptions& options);

}  // namespace plimsoll
