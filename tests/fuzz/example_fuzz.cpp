// Any bytes read as a tf.train.Example: a DataError, or lists that lie within it; and as a sample,
// a DataError or boxes in a frame.
#include "data/source/example.h"

#include <cmath>

#include "base/error.h"
#include "data/source/record_parser.h"

namespace {

void read_sample(std::span<const std::byte> record) {
  for (const char* boxes : {"", "image/object"}) try {
      plimsoll::RecordParser parser({.boxes = boxes}, {}, {});
      const plimsoll::RecordSample sample = parser.parse(record, "fuzz");
      plimsoll::expect(sample.label || sample.boxes.empty() || plimsoll::is_frame(sample.size),
                       "boxes have a frame");
      for (const plimsoll::Box& box : sample.boxes)
        plimsoll::expect(!(std::abs(box.x0) > 1e30F) && !(std::abs(box.y1) > 1e30F),
                         "a corner is near, or no number");
    } catch (const plimsoll::DataError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = std::as_bytes(std::span(data, size));
  read_sample(record);
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
