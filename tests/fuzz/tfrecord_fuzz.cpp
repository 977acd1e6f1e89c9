// Any bytes read as a TFRecord file: records that lie one after the other, or a DataError.
#include "data/tfrecord.h"

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    plimsoll::sniff_records(file.path());
    plimsoll::TfRecordReader reader(file.path(), plimsoll::Bytes{1 << 16});
    std::int64_t end = 0;
    while (const auto record = reader.next()) {
      plimsoll::expect(record->offset == end, "a record begins where the one before ends");
      end = record->offset + plimsoll::TfRecord::kHeader + std::ssize(record->payload) + 4;
      unsigned sum = 0;
      for (const std::byte byte : record->payload) sum += static_cast<unsigned>(byte);
      plimsoll::expect(sum <= record->payload.size() * 255, "every byte of it is there");
    }
    plimsoll::expect(end == static_cast<std::int64_t>(size), "records fill the file");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
