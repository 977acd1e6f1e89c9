// Text in rows and columns, by RFC 4180.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct CsvRow {
  std::int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

// Reads rows one by one: fields in quotes may hold separators, line ends and doubled quotes; lines
// end in LF or CRLF; empty lines and a byte order mark are passed over. `text` must outlive it.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator, std::string_view where);

  // False at the end. DataError with the line on a quote that does not end, text behind a closing
  // quote, or a field above 1 MiB.
  bool next(CsvRow& row);

 private:
  bool skip_line_end();
  bool ends_field() const;
  std::string field();
  void put(std::string& value);
  [[noreturn]] void fail(std::int64_t line, std::string got, std::string expected) const;

  std::string_view text_;
  char separator_;
  std::string where_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace plimsoll
