// Any bytes read as an HDF5 file: a DataError or consistent tensors, nothing else.
#include "format/hdf5.h"

#include <array>

#include "base/error.h"
#include "memory_file.h"

namespace {

std::size_t count_tensors(const plimsoll::Hdf5Object& object) {
  std::size_t count = object.tensor ? 1 : 0;
  for (const plimsoll::Hdf5Object& member : object.members) {
    plimsoll::expect(object.find(member.name) == &member, "a member is found by its name");
    count += count_tensors(member);
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  try {
    const plimsoll::Hdf5File file(memory.path());
    alignas(8) std::array<std::byte, 64> buffer{};
    std::size_t total = 0;
    for (std::size_t t = 0; t < file.tensors().size(); ++t)
      file.read(t, buffer, [&](auto piece) { total += piece.size(); });
    plimsoll::expect(total <= size, "tensors are no larger than their file");
    plimsoll::expect(count_tensors(file.root()) == file.tensors().size(), "tensors are listed");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
