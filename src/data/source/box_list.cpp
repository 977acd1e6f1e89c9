// Lists with a box in each row: keras-retinanet's CSV, and the one of TensorFlow's tutorials.
#include <charconv>
#include <cmath>
#include <map>

#include "base/text.h"
#include "data/source/picture_list.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What all rows together say of a picture.
struct ListedPicture {
  ListRow row;  // its first
  Size size;    // as the list gives it; zeros where it does not
  std::vector<Box> boxes;
  std::optional<Complaint> complaint;
};

double parse_number(const CsvRow& row, std::size_t column, const ListRow& parsed) {
  const std::string_view text = trim(row.fields[column]);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw DataError({.where = parsed.where,
                     .got = "'" + std::string(text.substr(0, 40)) + "'",
                     .expected = "expected a number of pixels"});
  return value;
}

std::int64_t side(const CsvRow& row, std::size_t column, const ListRow& parsed) {
  const double value = parse_number(row, column, parsed);
  return value >= 1 && value < 1e9 ? static_cast<std::int64_t>(value) : 0;
}

// A row whose corners and class are all empty is a picture without boxes.
bool is_empty(const CsvRow& row, const ListColumns& columns, const ListRow& parsed) {
  const ListColumns::Corners& at = *columns.corners;
  for (const std::size_t column : {at.x0, at.y0, at.x1, at.y1})
    if (!trim(row.fields[column]).empty()) return false;
  return parsed.label.empty();
}

void add_row(const CsvRow& row, const ListColumns& columns, const ListRow& parsed,
             ClassNumbers& classes, ListedPicture& picture) {
  if (is_empty(row, columns, parsed)) return;
  const auto number = [&](std::size_t column) {
    return to_corner(parse_number(row, column, parsed));
  };
  if (parsed.label.empty())
    throw DataError(
        {.where = parsed.where, .got = "a box without a class", .expected = "expected its name"});
  if (columns.size)
    picture.size = {.height = side(row, columns.size->height, parsed),
                    .width = side(row, columns.size->width, parsed)};
  const ListColumns::Corners& at = *columns.corners;
  picture.boxes.push_back({.x0 = number(at.x0),
                           .y0 = number(at.y0),
                           .x1 = number(at.x1),
                           .y1 = number(at.y1),
                           .label = classes.find_or_add(parsed.label, parsed.where)});
  picture.boxes.back().area = area_of(picture.boxes.back());
}

}  // namespace

SourcePtr open_box_list(const fs::path& path, std::string_view text, const fs::path& folder,
                        const ListColumns& columns, const SourceOptions& options) {
  const auto source = std::make_shared<FileSource>("a list of boxes", folder);
  ClassNumbers classes(options.class_names);
  std::vector<ListedPicture> pictures;
  std::map<std::string, std::size_t> by_file;
  CsvReader reader(text, separator_of(path), path.string());
  CsvRow row;
  if (columns.has_header) reader.next(row);
  while (reader.next(row)) {
    try {
      const ListRow parsed = parse_row(row, path, columns, false);
      const auto [at, is_new] = by_file.emplace(parsed.file, pictures.size());
      if (is_new) pictures.push_back({.row = parsed});
      ListedPicture& picture = pictures[at->second];
      try {
        add_row(row, columns, parsed, classes, picture);
      } catch (const DataError& error) {
        if (!picture.complaint) picture.complaint = error.complaint();
      }
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  }
  for (ListedPicture& picture : pictures) {
    try {
      if (picture.complaint) throw DataError(*picture.complaint);
      const Bytes bytes = listed_size(folder, picture.row);
      const Size frame =
          is_frame(picture.size) ? picture.size : stored_size(folder / picture.row.file);
      source->add(picture.row.file, bytes, picture.boxes, frame);
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  }
  return finish_list(source, classes, path);
}

}  // namespace plimsoll
