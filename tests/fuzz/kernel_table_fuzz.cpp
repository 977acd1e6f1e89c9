// Any text read as a table of kernels: a DataError, or a table that prints as it is read.
#include "exec/kernel_table.h"

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto table =
        plimsoll::KernelTable::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string text = table.text();
    plimsoll::expect(plimsoll::KernelTable::parse(text, "again").text() == text,
                     "a table prints as it is read");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
