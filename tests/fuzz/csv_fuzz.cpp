// Any text read as CSV: a DataError, or rows that, written with quotes, read back as themselves and
// whose columns, as a list of pictures, mean something or are refused.
#include "data/source/csv.h"

#include <string>

#include "base/error.h"
#include "data/source/list_columns.h"

namespace {

std::string text_of(std::string_view text) {
  std::string result;
  plimsoll::CsvReader reader(text, ',', "fuzz");
  for (plimsoll::CsvRow row; reader.next(row);) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      result += i == 0 ? "\"" : ",\"";
      for (const char c : row.fields[i])
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
      result += '"';
    }
    result += '\n';
  }
  return result;
}

void check_columns(std::string_view text, plimsoll::Reading reading) {
  plimsoll::CsvRow row;
  if (!plimsoll::CsvReader(text, ',', "fuzz").next(row)) return;
  try {
    const plimsoll::ListColumns columns = plimsoll::find_columns(row, reading, "fuzz");
    plimsoll::expect(
        !(columns.has_header || columns.corners) || columns.count() <= row.fields.size(),
        "columns are those of the first row");
  } catch (const plimsoll::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string once = text_of({reinterpret_cast<const char*>(data), size});
    plimsoll::expect(text_of(once) == once, "rows read back as themselves");
    for (const auto reading :
         {plimsoll::Reading::found, plimsoll::Reading::classes, plimsoll::Reading::boxes})
      check_columns(once, reading);
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
