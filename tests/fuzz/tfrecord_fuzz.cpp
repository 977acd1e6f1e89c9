// Any bytes read as a TFRecord file, as they are and with their checksums made right: records that
// lie one after the other, or a DataError; and as a source, samples that can be read, with boxes
// that lie on a canvas.
#include "data/source/tfrecord.h"

#include "base/error.h"
#include "data/batch/placed_boxes.h"
#include "data/source/record_source.h"
#include "memory_file.h"
#include "right_checksums.h"

namespace {

using namespace plimsoll;

void read_framing(const MemoryFile& file, std::size_t size) {
  try {
    sniff_records(file.path());
    TfRecordReader reader(file.path(), Bytes{1 << 16});
    std::int64_t end = 0;
    while (const auto record = reader.next()) {
      expect(record->offset == end, "a record begins where the one before ends");
      end = record->offset + TfRecord::kHeader + std::ssize(record->payload) + 4;
      unsigned sum = 0;
      for (const std::byte byte : record->payload) sum += static_cast<unsigned>(byte);
      expect(sum <= record->payload.size() * 255, "every byte of it is there");
    }
    expect(end == static_cast<std::int64_t>(size), "records fill the file");
  } catch (const DataError&) {
  }
}

// As if the picture had another size than its record says.
void place(const Source& source, std::int64_t i) {
  std::vector<PlacedBox> placed(static_cast<std::size_t>(source.index().max_boxes));
  const CanvasPlacement placement{.image = {50, 30}, .extent = {25, 15}, .orientation = 6};
  const std::int64_t count = place_boxes(source, i, placement, {0, 0, 30, 50}, {}, placed);
  for (const PlacedBox& box : std::span(placed).first(static_cast<std::size_t>(count)))
    expect(box.x0 >= 0 && box.x0 < box.x1 && box.x1 <= 15 && box.y0 >= 0 && box.y0 < box.y1 &&
               box.y1 <= 25,
           "a box lies on the canvas");
  upright_truth(source, i, placement);
}

void read_samples(const MemoryFile& file, std::size_t size) {
  try {
    const SourcePtr source = open_records({file.path()}, {});
    MappedBytes buffer;
    const auto classes = std::ssize(source->class_names());
    for (std::int64_t i = 0; i < source->size(); ++i) {
      expect(source->read(i, buffer).bytes.size() < size, "an image is smaller than its file");
      if (!source->has_boxes())
        expect(source->label(i) >= 0 && source->label(i) < classes, "a label is a class");
      for (const Box& box : source->boxes(i))
        expect(box.label >= 0 && box.label < classes, "a box's label is a class");
      place(*source, i);
    }
  } catch (const DataError&) {
  } catch (const UsageError&) {  // compressed
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_framing(MemoryFile(data, size), size);
  const std::vector<std::uint8_t> right = with_right_record_checksums(data, size);
  const MemoryFile file(right.data(), right.size());
  read_framing(file, size);
  read_samples(file, size);
  return 0;
}
