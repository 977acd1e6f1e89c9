// Any text read as a label map or as a list of names: a DataError or names.
#include "data/source/label_map.h"

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [id, name] : plimsoll::parse_label_map(text, "fuzz"))
      plimsoll::expect(!name.empty(), "a class has a name");
  } catch (const plimsoll::DataError&) {
  }
  try {
    plimsoll::expect(plimsoll::parse_label_list(text, "fuzz").size() <= size, "a name per line");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
