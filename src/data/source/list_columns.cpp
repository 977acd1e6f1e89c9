#include "data/source/list_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {
namespace {

using Names = std::initializer_list<std::string_view>;

std::optional<std::size_t> find_column(const CsvRow& row, Names names) {
  for (std::size_t i = 0; i < row.fields.size(); ++i)
    if (std::ranges::find(names, to_lower(trim(row.fields[i]))) != names.end()) return i;
  return std::nullopt;
}

std::optional<ListColumns::Corners> find_corners(const CsvRow& row) {
  constexpr std::array<std::array<std::string_view, 4>, 5> kSets = {
      {{"xmin", "ymin", "xmax", "ymax"},
       {"x_min", "y_min", "x_max", "y_max"},
       {"x0", "y0", "x1", "y1"},
       {"x1", "y1", "x2", "y2"},
       {"left", "top", "right", "bottom"}}};
  for (const auto& set : kSets) {
    const auto x0 = find_column(row, {set[0]});
    const auto y0 = find_column(row, {set[1]});
    const auto x1 = find_column(row, {set[2]});
    const auto y1 = find_column(row, {set[3]});
    if (x0 && y0 && x1 && y1) return ListColumns::Corners{*x0, *y0, *x1, *y1};
  }
  return std::nullopt;
}

bool names_boxes(const CsvRow& row) {
  if (find_column(row, {"bbox", "bounding_box", "box", "xmin", "x_min", "x1", "left"})) return true;
  return find_column(row, {"x", "x_center", "cx"}) && find_column(row, {"y", "y_center", "cy"}) &&
         find_column(row, {"w", "width"}) && find_column(row, {"h", "height"});
}

// A number, or nothing: a picture without boxes has a row of empty fields.
bool may_be_number(std::string_view field) {
  field = trim(field);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return field.empty() || (error == std::errc() && end == field.data() + field.size());
}

// A number that no class would be called by.
bool has_fraction(std::string_view field) {
  field = trim(field);
  return !field.empty() && may_be_number(field) && !parse_integer(field);
}

[[noreturn]] void ask(std::string_view where, const std::string& got) {
  throw DataError(
      {.where = std::string(where) + ": line 1",
       .got = got + ": boxes of pictures, or pictures with a class each",
       .expected = "expected columns that tell which",
       .hint = "for boxes, name the columns in a first line: filename,xmin,ymin,xmax,ymax,class; "
               "for classes, --read-as classes takes path and label alone"});
}

// Every column beside the path is a target.
bool is_of_columns(Reading reading) {
  return reading == Reading::labels || reading == Reading::numbers;
}

std::optional<ListColumns> parse_header(const CsvRow& row, Reading reading,
                                        std::string_view where) {
  const auto path =
      find_column(row, {"path", "file", "filename", "file_name", "filepath", "file_path", "image",
                        "image_path", "imagepath", "img", "images", "image_name"});
  const auto label = find_column(
      row, {"label", "class", "category", "target", "y", "class_name", "classname", "labels"});
  if (!path) return std::nullopt;
  ListColumns columns{.path = *path, .label = label.value_or(0), .has_header = true};
  if (reading != Reading::classes) columns.corners = find_corners(row);
  if (!label && !columns.corners && !is_of_columns(reading)) return std::nullopt;
  if (is_of_columns(reading)) {
    columns.targets = reading == Reading::labels ? TargetKind::labels : TargetKind::numbers;
    columns.label = columns.path == 0 ? 1 : 0;
    return columns;
  }
  if (!label)
    throw DataError({.where = std::string(where) + ": line 1",
                     .got = "columns of boxes, and none of their classes",
                     .expected = "expected one more, named class"});
  if (!columns.corners && reading != Reading::classes && names_boxes(row))
    ask(where, "the columns " + join(row.fields, ", "));
  const auto width = find_column(row, {"width", "image_width", "img_width"});
  const auto height = find_column(row, {"height", "image_height", "img_height"});
  if (width && height) columns.size = ListColumns::PictureSize{*width, *height};
  return columns;
}

// By what the fields look like.
ListColumns guess(const CsvRow& row, Reading reading, std::string_view where) {
  if (reading == Reading::classes) return {};
  if (reading == Reading::labels) return {.targets = TargetKind::labels};
  if (reading == Reading::numbers) return {.targets = TargetKind::numbers};
  if (row.fields.size() == 2 && has_fraction(row.fields[1]))
    return {.targets = TargetKind::numbers};
  std::string look;  // of each field: 1 may be a number, x is none
  for (const std::string& field : row.fields) look += may_be_number(field) ? '1' : 'x';
  if (look == "x11111" || look == "x1111x")
    return {.path = 0, .label = 5, .corners = ListColumns::Corners{1, 2, 3, 4}};
  if (look == "x11x1111")
    return {.path = 0,
            .label = 3,
            .corners = ListColumns::Corners{4, 5, 6, 7},
            .size = ListColumns::PictureSize{1, 2}};
  if (std::ranges::count(look, '1') >= 4)
    ask(where, std::to_string(look.size()) + " fields without names, most of them numbers");
  return {};
}

}  // namespace

std::size_t ListColumns::count() const {
  std::size_t last = std::max(path, label);
  if (corners) last = std::max({last, corners->x0, corners->y0, corners->x1, corners->y1});
  if (size) last = std::max({last, size->width, size->height});
  return last + 1;
}

ListColumns find_columns(const CsvRow& first, Reading reading, std::string_view where) {
  const std::optional<ListColumns> header = parse_header(first, reading, where);
  const ListColumns columns = header ? *header : guess(first, reading, where);
  if (reading == Reading::boxes && !columns.corners)
    throw UsageError({.where = "--read-as boxes",
                      .got = std::string(where) + " has no columns of corners",
                      .expected = "expected xmin, ymin, xmax, ymax in its first line, or rows of "
                                  "path,x1,y1,x2,y2,class"});
  return columns;
}

}  // namespace plimsoll
