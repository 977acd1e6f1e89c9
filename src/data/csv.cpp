#include "data/csv.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "data/class_numbers.h"
#include "data/file_source.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestField = 1 << 20;

class CsvReader {
 public:
  CsvReader(std::string_view text, char separator, std::string_view where)
      : text_(text), separator_(separator), where_(where) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // False at the end.
  bool next(CsvRow& row) {
    while (skip_line_end()) {
    }
    if (at_ == text_.size()) return false;
    row.line = line_;
    row.fields.clear();
    while (true) {
      row.fields.push_back(field());
      if (at_ == text_.size() || skip_line_end()) return true;
      ++at_;  // the separator
    }
  }

 private:
  bool skip_line_end() {
    if (text_.substr(at_).starts_with("\r\n"))
      at_ += 2;
    else if (at_ < text_.size() && text_[at_] == '\n')
      at_ += 1;
    else
      return false;
    ++line_;
    return true;
  }

  bool ends_field() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n' ||
           text_.substr(at_).starts_with("\r\n");
  }

  std::string field() {
    std::string value;
    if (at_ < text_.size() && text_[at_] == '"') {
      const std::int64_t begin = line_;
      for (++at_;; ++at_) {
        if (at_ == text_.size()) fail(begin, "a quote that does not end", "expected another quote");
        if (text_[at_] == '"') {
          if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
          ++at_;
        }
        line_ += text_[at_] == '\n';
        put(value);
      }
      ++at_;
      if (!ends_field())
        fail(line_, "text behind a closing quote", "expected a separator or the end of the line");
      return value;
    }
    for (; !ends_field(); ++at_) put(value);
    return value;
  }

  void put(std::string& value) {
    if (value.size() == kLongestField) fail(line_, "a field of more than 1 MiB", "expected less");
    value += text_[at_];
  }

  [[noreturn]] void fail(std::int64_t line, std::string got, std::string expected) const {
    throw DataError({.where = std::string(where_) + ": line " + std::to_string(line),
                     .got = std::move(got),
                     .expected = std::move(expected)});
  }

  std::string_view text_;
  char separator_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

struct Columns {
  std::size_t path = 0;
  std::size_t label = 1;
};

// The columns if the row is a header.
std::optional<Columns> parse_header(const CsvRow& row) {
  constexpr std::array<std::string_view, 11> kPaths = {
      "path",  "file",       "filename",  "file_name", "filepath", "file_path",
      "image", "image_path", "imagepath", "img",       "images"};
  constexpr std::array<std::string_view, 7> kLabels = {"label", "class",      "category", "target",
                                                       "y",     "class_name", "labels"};
  std::optional<std::size_t> path;
  std::optional<std::size_t> label;
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const std::string name = to_lower(trim(row.fields[i]));
    if (!path && std::ranges::find(kPaths, name) != kPaths.end()) path = i;
    if (!label && std::ranges::find(kLabels, name) != kLabels.end()) label = i;
  }
  if (!path || !label) return std::nullopt;
  return Columns{.path = *path, .label = *label};
}

}  // namespace

void read_csv(std::string_view text, char separator, std::string_view where,
              const std::function<void(const CsvRow&)>& on_row) {
  CsvReader reader(text, separator, where);
  CsvRow row;
  while (reader.next(row)) on_row(row);
}

SourcePtr open_csv(const fs::path& path, const SourceOptions& options) {
  const std::string text = read_file(path, 1_GiB);
  const char separator = path.extension() == ".tsv" ? '\t' : ',';
  const fs::path root = path.parent_path();
  const auto source = std::make_shared<FileSource>("a list of path,label", root);
  ClassNumbers classes(options.class_names);
  Columns columns;
  bool first = true;

  const auto add = [&](const CsvRow& row) {
    if (std::exchange(first, false)) {
      if (const std::optional<Columns> header = parse_header(row)) {
        columns = *header;
        return;
      }
    }
    const std::string where = path.string() + ": line " + std::to_string(row.line);
    if (row.fields.size() <= std::max(columns.path, columns.label)) {
      source->add_defect({.where = where,
                          .got = std::to_string(row.fields.size()) + " fields",
                          .expected = "expected path" + std::string(1, separator) + "label"});
      return;
    }
    const std::string file(trim(row.fields[columns.path]));
    const std::string label(trim(row.fields[columns.label]));
    if (file.empty() || label.empty() || file.find('\0') != std::string::npos) {
      source->add_defect({.where = where,
                          .got = file.empty()    ? "an empty path"
                                 : label.empty() ? "an empty label"
                                                 : "a path with a zero byte in it",
                          .expected = "expected path and label"});
      return;
    }
    struct stat status {};
    if (::stat((root / file).c_str(), &status) != 0) {
      source->add_defect({.where = where,
                          .got = "cannot read " + (root / file).string() + ": " +
                                 std::generic_category().message(errno),
                          .expected = "expected an image",
                          .hint = "paths are relative to the folder of the list"});
      return;
    }
    try {
      source->add(file, Bytes{status.st_size}, classes.find_or_add(label, where));
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  };
  read_csv(text, separator, path.string(), add);

  if (source->size() == 0) {
    if (!source->defects().empty()) throw DataError(source->defects().front());
    throw DataError({.where = path.string(),
                     .got = "no row in it",
                     .expected = "expected a line path,label for each image"});
  }
  classes.settle(*source);
  return source;
}

}  // namespace plimsoll
