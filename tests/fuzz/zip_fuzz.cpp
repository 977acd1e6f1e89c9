// Any bytes read as a zip archive: a DataError or entries within the file, nothing else.
#include "format/zip.h"

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using plimsoll::operator""_KiB;
  const MemoryFile memory(data, size);
  try {
    const plimsoll::ZipReader zip(memory.path());
    std::size_t stored = 0;
    for (const plimsoll::ZipEntry& entry : zip.entries()) {
      plimsoll::expect(zip.find(entry.name) == &entry, "an entry is found by its name");
      stored += static_cast<std::size_t>(entry.stored_bytes);
      try {
        const std::string bytes = zip.read(entry, 64_KiB);
        plimsoll::expect(bytes.size() == static_cast<std::size_t>(entry.bytes), "all of it");
      } catch (const plimsoll::DataError&) {
      }
    }
    plimsoll::expect(stored < size, "entries share no bytes");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
