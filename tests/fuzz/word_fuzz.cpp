// Any bytes read as what ranks tell each other: a DataError, or what is written as it was read.
#include "dist/word.h"

#include <algorithm>

#include "base/error.h"
#include "dist/agreement.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const dist::Word word = dist::parse_word(bytes, "rank 1");
    const dist::WordBytes again = dist::pack_word(word);
    expect(std::ranges::equal(again, bytes), "a word is written as it is read");
  } catch (const DataError&) {
  }
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    expect(dist::pack_facts(dist::parse_facts(text, "rank 1")) == text,
           "facts are written as they are read");
  } catch (const DataError&) {
  }
  return 0;
}
