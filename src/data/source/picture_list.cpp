#include "data/source/picture_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/source/folder.h"
#include "data/source/parts.h"
#include "data/source/picture_names.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Where the paths of a list begin: the first place that has one of the first pictures.
fs::path find_pictures(const fs::path& path, std::string_view text, const ListColumns& columns,
                       const SourceOptions& options) {
  if (!options.images.empty()) return options.images;
  const fs::path beside = path.parent_path();
  const fs::path above = beside / "..";
  std::vector<fs::path> places = {beside, beside / "images", above / "images", above};
  if (const std::string part = part_of(path.stem().string()); !part.empty())
    for (const fs::path& place : {beside / part, above / part, above / "images" / part})
      places.push_back(place);
  constexpr int kRows = 10;
  CsvReader reader(text, separator_of(path), path.string());
  CsvRow row;
  if (columns.has_header) reader.next(row);
  for (int i = 0; i < kRows && reader.next(row); ++i)
    if (columns.path < row.fields.size())
      if (const auto folder = find_folder_of(trim(row.fields[columns.path]), places))
        return *folder == beside ? beside : folder->lexically_normal();
  return beside;
}

}  // namespace

char separator_of(const fs::path& path) {
  return to_lower(path.extension().string()) == ".tsv" ? '\t' : ',';
}

ListRow parse_row(const CsvRow& row, const fs::path& path, const ListColumns& columns,
                  bool needs_label) {
  ListRow parsed{.where = path.string() + ": line " + std::to_string(row.line)};
  const auto fail = [&](std::string got, std::string expected) {
    throw DataError(
        {.where = parsed.where, .got = std::move(got), .expected = std::move(expected)});
  };
  if (row.fields.size() < columns.count())
    fail(std::to_string(row.fields.size()) + " fields",
         columns.corners ? "expected " + std::to_string(columns.count()) + ", as the first row has"
                         : "expected path" + std::string(1, separator_of(path)) + "label");
  parsed.file = trim(row.fields[columns.path]);
  parsed.label = trim(row.fields[columns.label]);
  if (parsed.file.empty()) fail("an empty path", "expected path and label");
  if (parsed.label.empty() && needs_label) fail("an empty label", "expected path and label");
  if (parsed.file.find('\0') != std::string::npos)
    fail("a path with a zero byte in it", "expected path and label");
  return parsed;
}

Bytes listed_size(const fs::path& folder, const ListRow& row) {
  struct stat status {};
  if (::stat((folder / row.file).c_str(), &status) != 0)
    throw DataError({.where = row.where,
                     .got = "cannot read " + (folder / row.file).string() + ": " +
                            std::generic_category().message(errno),
                     .expected = "expected an image",
                     .hint = "paths are relative to the folder of the list; --images DIR names "
                             "another"});
  return {status.st_size};
}

SourcePtr finish_list(const std::shared_ptr<FileSource>& source, const ClassNumbers& classes,
                      const fs::path& path) {
  if (source->size() == 0) {
    if (!source->defects().empty()) throw DataError(source->defects().front());
    throw DataError({.where = path.string(),
                     .got = "no row in it",
                     .expected = "expected a line path,label for each image"});
  }
  classes.settle(*source);
  return source;
}

SourcePtr open_picture_list(const fs::path& path, const SourceOptions& options) {
  const std::string text = read_file(path, 1_GiB);
  CsvReader reader(text, separator_of(path), path.string());
  CsvRow row;
  ListColumns columns;
  bool has_row = reader.next(row);
  if (has_row) columns = find_columns(row, options.reading, path.string());
  const fs::path folder = find_pictures(path, text, columns, options);
  if (columns.corners) return open_box_list(path, text, folder, columns, options);

  if (columns.targets != TargetKind::label)
    return open_target_list(path, text, folder, columns, options);

  const auto source = std::make_shared<FileSource>("a list of path,label", folder);
  ClassNumbers classes(options.class_names);
  if (columns.has_header) has_row = reader.next(row);
  for (; has_row; has_row = reader.next(row)) {
    try {
      const ListRow parsed = parse_row(row, path, columns, true);
      const Bytes size = listed_size(folder, parsed);
      source->add(parsed.file, size, classes.find_or_add(parsed.label, parsed.where));
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  }
  return finish_list(source, classes, path);
}

bool is_picture_list(const fs::path& path) {
  const std::string text = read_beginning(path, 64_KiB);
  try {
    CsvRow row;
    if (!CsvReader(text, separator_of(path), path.string()).next(row)) return false;
    return find_columns(row, Reading::classes, path.string()).has_header ||
           is_picture_name(trim(row.fields[0]));
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace plimsoll
