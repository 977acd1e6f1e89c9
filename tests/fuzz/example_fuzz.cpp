// Any bytes read as a tf.train.Example: a DataError, or lists that lie within it.
#include "data/source/example.h"

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = std::as_bytes(std::span(data, size));
  plimsoll::Example example;
  try {
    example.parse(record);
    example.describe();
    for (const auto& [key, feature] : example.features()) {
      plimsoll::expect(example.find(key) != nullptr, "a key is found");
      for (const auto& value : feature.bytes_values())
        plimsoll::expect(value.data() >= record.data() &&
                             value.data() + value.size() <= record.data() + record.size(),
                         "a value lies within the record");
      plimsoll::expect(feature.float_values().size() * 4 <= size, "floats have four bytes each");
      plimsoll::expect(feature.int_values().size() <= size, "integers have a byte at least");
      feature.first_bytes();
      feature.first_int();
    }
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
