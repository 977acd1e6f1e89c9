// Any text read as CSV: a DataError, or rows that, written with quotes, read back as themselves.
#include "data/csv.h"

#include <string>

#include "base/error.h"

namespace {

std::string text_of(std::string_view text) {
  std::string result;
  plimsoll::read_csv(text, ',', "fuzz", [&](const plimsoll::CsvRow& row) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      result += i == 0 ? "\"" : ",\"";
      for (const char c : row.fields[i])
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
      result += '"';
    }
    result += '\n';
  });
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string once = text_of({reinterpret_cast<const char*>(data), size});
    plimsoll::expect(text_of(once) == once, "rows read back as themselves");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
