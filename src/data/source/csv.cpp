#include "data/source/csv.h"

#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::size_t kLongestField = 1 << 20;

}  // namespace

CsvReader::CsvReader(std::string_view text, char separator, std::string_view where)
    : text_(text), separator_(separator), where_(where) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

bool CsvReader::next(CsvRow& row) {
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

bool CsvReader::skip_line_end() {
  if (text_.substr(at_).starts_with("\r\n"))
    at_ += 2;
  else if (at_ < text_.size() && text_[at_] == '\n')
    at_ += 1;
  else
    return false;
  ++line_;
  return true;
}

bool CsvReader::ends_field() const {
  return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n' ||
         text_.substr(at_).starts_with("\r\n");
}

std::string CsvReader::field() {
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

void CsvReader::put(std::string& value) {
  if (value.size() == kLongestField) fail(line_, "a field of more than 1 MiB", "expected less");
  value += text_[at_];
}

void CsvReader::fail(std::int64_t line, std::string got, std::string expected) const {
  throw DataError({.where = where_ + ": line " + std::to_string(line),
                   .got = std::move(got),
                   .expected = std::move(expected)});
}

}  // namespace plimsoll
