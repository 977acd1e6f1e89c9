#include <charconv>
#include <cmath>

#include "base/text.h"
#include "data/source/picture_list.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// The fields of a row beside its path.
std::vector<std::string> targets_of(const CsvRow& row, const ListColumns& columns) {
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < row.fields.size(); ++i)
    if (i != columns.path) targets.emplace_back(trim(row.fields[i]));
  return targets;
}

float parse_number(const std::string& text, const std::string& where) {
  float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    throw DataError({.where = where, .got = "'" + text + "'", .expected = "expected a number"});
  return number;
}

// The names of the columns, or those that the training set gave its numbers.
std::vector<std::string> number_names(const CsvRow& first, const ListColumns& columns,
                                      const SourceOptions& options) {
  if (!options.class_names.empty()) return options.class_names;
  if (columns.has_header) return targets_of(first, columns);
  std::vector<std::string> names;
  for (std::size_t i = 1; i < first.fields.size(); ++i)
    names.push_back("number " + std::to_string(i));
  return names;
}

}  // namespace

SourcePtr open_target_list(const fs::path& path, std::string_view text, const fs::path& folder,
                           const ListColumns& columns, const SourceOptions& options) {
  const bool has_numbers = columns.targets == TargetKind::numbers;
  const auto source = std::make_shared<FileSource>(
      has_numbers ? "a list of path,number" : "a list of path,label,...", folder);
  ClassNumbers classes(has_numbers ? std::vector<std::string>() : options.class_names);
  CsvReader reader(text, separator_of(path), path.string());
  CsvRow row;
  bool has_row = reader.next(row);
  const std::vector<std::string> names = number_names(row, columns, options);
  if (columns.has_header) has_row = reader.next(row);
  for (; has_row; has_row = reader.next(row)) {
    try {
      const ListRow parsed = parse_row(row, path, columns, false);
      const Bytes size = listed_size(folder, parsed);
      const std::vector<std::string> targets = targets_of(row, columns);
      if (has_numbers) {
        if (targets.size() != names.size())
          throw DataError(
              {.where = parsed.where,
               .got = std::to_string(targets.size()) + " numbers",
               .expected = "expected " + std::to_string(names.size()) + ", as the first row has"});
        std::vector<float> numbers;
        for (const std::string& target : targets)
          numbers.push_back(parse_number(target, parsed.where));
        source->add(parsed.file, size, numbers);
      } else {
        std::vector<std::int32_t> labels;
        for (const std::string& target : targets)
          if (!target.empty()) labels.push_back(classes.find_or_add(target, parsed.where));
        source->add(parsed.file, size, std::span<const std::int32_t>(labels));
      }
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  }
  if (!has_numbers || source->size() == 0) return finish_list(source, classes, path);
  source->finish(names);
  return source;
}

}  // namespace plimsoll
