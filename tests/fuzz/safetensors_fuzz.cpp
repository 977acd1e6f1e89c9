// Any bytes read as a safetensors file: a DataError or consistent tensors, nothing else.
#include "format/safetensors.h"

#include <array>

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::SafetensorsReader reader(file.path());
    std::array<std::byte, 7> buffer{};
    std::size_t total = 0;
    for (const plimsoll::StoredTensor& tensor : reader.tensors()) {
      plimsoll::expect(reader.find(tensor.name) == &tensor, "a tensor is found by its name");
      reader.read(tensor.name, buffer, [&](auto piece) { total += piece.size(); });
    }
    plimsoll::expect(total < size, "tensors are smaller than their file");
    reader.verify(buffer);
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
