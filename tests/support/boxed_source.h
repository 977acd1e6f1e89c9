// Pictures with boxes, held in memory.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "data/source/annotations.h"
#include "tests/support/record_writer.h"

namespace plimsoll::tests {

// Filled by add(), then finish()ed.
class BoxedSource final : public ListedSource {
 public:
  // An encoded picture and its boxes, whose areas are filled in.
  void add(std::string encoded, std::vector<Box> boxes, Size frame) {
    for (Box& box : boxes) box.area = area_of(box);
    index_.largest_encoded = std::max(index_.largest_encoded, Bytes{std::ssize(encoded)});
    encoded_.push_back(std::move(encoded));
    annotations_.add_boxes(boxes, frame);
  }
  // A BMP of that size with its boxes in its own frame.
  void add(Size size, std::vector<Box> boxes) {
    add(bmp_image(static_cast<int>(size.width), static_cast<int>(size.height),
                  static_cast<unsigned>(encoded_.size())),
        std::move(boxes), size);
  }
  void finish(std::vector<std::string> class_names) {
    class_names_ = std::move(class_names);
    finish_index();
  }

  std::string where(std::int64_t i) const override { return "picture " + std::to_string(i); }
  std::string path(std::int64_t i) const override { return where(i); }
  Encoded read(std::int64_t i, MappedBytes& buffer) const override {
    const std::string& bytes = encoded_[static_cast<std::size_t>(i)];
    buffer.resize(bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return {.bytes = buffer};
  }

 private:
  std::vector<std::string> encoded_;
};

// 13 pictures of different shapes with 0 to 4 boxes each, of three classes.
inline std::shared_ptr<BoxedSource> boxed_pictures() {
  auto source = std::make_shared<BoxedSource>();
  for (int n = 0; n < 13; ++n) {
    const Size size{.height = 20 + n * 7 % 19, .width = 18 + n * 5 % 23};
    std::vector<Box> boxes;
    for (int k = 0; k < n % 5; ++k) {
      const auto at = static_cast<float>(2 * k + n % 3);
      boxes.push_back({.x0 = at,
                       .y0 = at + 1,
                       .x1 = at + 6 + static_cast<float>(n % 4),
                       .y1 = at + 7,
                       .label = k % 3,
                       .difficult = k == 3});
    }
    source->add(size, std::move(boxes));
  }
  source->finish({"a", "b", "c"});
  return source;
}

}  // namespace plimsoll::tests
