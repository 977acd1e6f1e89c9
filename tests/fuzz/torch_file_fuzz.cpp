// Any bytes read as a file of torch.save: a DataError or tensors no larger than the file.
#include "format/torch_file.h"

#include <array>

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::TorchFile reader(file.path());
    alignas(8) std::array<std::byte, 16> buffer{};
    for (std::size_t t = 0; t < reader.tensors().size(); ++t) {
      std::size_t total = 0;
      reader.read(t, buffer, [&](auto piece) { total += piece.size(); });
      plimsoll::expect(total == static_cast<std::size_t>(reader.tensors()[t].bytes()),
                       "a tensor is read whole");
      plimsoll::expect(total < size, "a tensor is smaller than its file");
    }
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
