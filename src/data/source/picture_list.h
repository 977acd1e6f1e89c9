// Lists of pictures in text: path,label, or a box in each row.
#pragma once

#include <filesystem>

#include "data/source/class_numbers.h"
#include "data/source/file_source.h"
#include "data/source/list_columns.h"
#include "data/source/source_options.h"

namespace plimsoll {

// Pictures with a class each, or with boxes (find_columns). Paths are relative to the first of
// these that has one of the first pictures: options.images, the list's folder, images/ in it or
// beside it, the folder of the list's part (train_labels.csv: train/). Classes are the labels in
// the order of their names, or of their numbers if all are numbers ("2" before "12"). Rows without
// all fields, files that are not there and labels that are not among options.class_names become
// defects; a picture with a box that cannot be read is left out whole. *.tsv is separated by tabs.
// At most 1 GiB.
SourcePtr open_picture_list(const std::filesystem::path& path, const SourceOptions& options);

// Whether the beginning of a file looks like such a list.
bool is_picture_list(const std::filesystem::path& path);

// What a row says, as both kinds of list need it.
struct ListRow {
  std::string where;  // "list.csv: line 7"
  std::string file;
  std::string label;
};

// Rows of boxes; open_picture_list's part for them. `folder` holds the pictures.
SourcePtr open_box_list(const std::filesystem::path& path, std::string_view text,
                        const std::filesystem::path& folder, const ListColumns& columns,
                        const SourceOptions& options);

// Rows of several labels or of numbers; open_picture_list's part for them.
SourcePtr open_target_list(const std::filesystem::path& path, std::string_view text,
                           const std::filesystem::path& folder, const ListColumns& columns,
                           const SourceOptions& options);

// File and label of a row. DataError if fields are missing or empty; `needs_label`: that too.
ListRow parse_row(const CsvRow& row, const std::filesystem::path& path, const ListColumns& columns,
                  bool needs_label);

// Bytes of a listed file. DataError where there is none.
Bytes listed_size(const std::filesystem::path& folder, const ListRow& row);

char separator_of(const std::filesystem::path& path);

// The source, its classes settled. DataError if it has no sample.
SourcePtr finish_list(const std::shared_ptr<FileSource>& source, const ClassNumbers& classes,
                      const std::filesystem::path& path);

}  // namespace plimsoll
