// Any bytes read as a table and as a checkpoint in one table: a DataError or consistent tensors.
#include "format/tensorflow_checkpoint.h"

#include <array>

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::TensorflowCheckpoint reader(file.path());
    alignas(8) std::array<std::byte, 16> buffer{};
    for (std::size_t t = 0; t < reader.tensors().size(); ++t) {
      std::size_t total = 0;
      reader.read(t, buffer, [&](auto piece) { total += piece.size(); });
      plimsoll::expect(total == static_cast<std::size_t>(reader.tensors()[t].bytes()),
                       "a tensor is read whole");
    }
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
