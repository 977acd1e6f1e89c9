// Any bytes read as an IDX file, plain or gzip: a DataError or an array of its own size.
#include "data/source/idx.h"

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::IdxArray array = plimsoll::read_idx(file.path(), plimsoll::Bytes{1 << 20});
    std::size_t total = 1;
    for (const std::int64_t dim : array.shape) total *= static_cast<std::size_t>(dim);
    plimsoll::expect(total == array.values.size(), "the shape is that of the values");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
