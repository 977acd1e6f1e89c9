// Any bytes opened as a file of another program: a DataError or weights that are there.
#include "interop/imported_file.h"

#include <array>

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  try {
    const plimsoll::interop::ImportedFile file = plimsoll::interop::open_imported(memory.path());
    const std::size_t tensors = file.tensors == nullptr ? 0 : file.tensors->tensors().size();
    for (const auto& layer : file.layers)
      for (const auto& weight : layer.weights)
        plimsoll::expect(weight.tensor < tensors, "a weight is one of the tensors");
    for (const auto& slot : file.optimizer.slots)
      plimsoll::expect(slot.tensor < tensors, "a slot is one of the tensors");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
