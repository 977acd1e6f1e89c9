// Brings the rows of an image to another size as they come: a picture is never held as a whole.
#pragma once

#include <cstdint>
#include <span>

#include "data/picture/orientation.h"
#include "data/picture/resample.h"
#include "data/picture/row_sink.h"

namespace plimsoll {

// What is wanted of an image: the part `crop` of the upright one, brought to `out`, mirrored after
// that, written as [height][width][channels] to `hwc`. Pixels outside the crop do not enter.
struct ResizeRequest {
  Size out;
  int channels = 3;
  Interpolation how;
  int orientation = 1;
  Size stored;  // of the whole image
  Rect crop;
  bool mirror_x = false;
  bool mirror_y = false;
  std::uint8_t* hwc = nullptr;
};

// The result has the same bits as if the image were turned upright first and resized as a whole.
class Resizer final : public RowSink {
 public:
  // For the image that comes next.
  void expect_image(const ResizeRequest& request) { request_ = request; }

  void begin(const StoredPart& part, Room& room) override;
  std::uint8_t* row(std::int64_t y) noexcept override {
    return buffers_.data() + slot(line_of(y)) * row_bytes_;
  }
  void put(std::int64_t y) noexcept override { feed(y, row(y)); }
  // A row that lies elsewhere, and stays there to the end; instead of row() and put().
  void feed(std::int64_t y, const std::uint8_t* row) noexcept;

  // What begin() takes from the room at most, for images with sides of up to `largest` that become
  // `out`, or that and less.
  static Bytes bytes(Size out, int channels, Interpolation how, Size largest, Fit fit);

 private:
  // The upright row or, of a transposed image, column that stored row y is.
  std::int64_t line_of(std::int64_t y) const { return comes_backwards_ ? lines_.limit - 1 - y : y; }
  std::int64_t slot(std::int64_t line) const { return line % held_; }
  bool is_nearest() const { return request_.how.method == Resize::nearest; }
  // Position i of the output along the axis in which lines come has all it needs.
  void emit(std::int64_t i) noexcept;
  void emit_nearest(std::int64_t i, const std::uint8_t* row) noexcept;

  ResizeRequest request_;
  Turn turn_;
  Stretch lines_;   // along the axis in which rows come
  Stretch pixels_;  // along a row
  Taps line_taps_;
  Taps pixel_taps_;
  bool comes_backwards_ = false;
  std::int64_t row_bytes_ = 0;
  std::int64_t held_ = 1;  // rows that are kept at a time
  std::int64_t next_ = 0;  // output position that is emitted next
  std::int64_t left_ = 0;  // first pixel of a row that any tap asks for
  std::int64_t used_bytes_ = 0;
  std::span<std::uint8_t> buffers_;           // [held][row_bytes]
  std::span<const std::uint8_t*> held_rows_;  // by slot
  std::span<const std::uint8_t*> sources_;    // of one blend
  std::span<std::int16_t> line_;
  std::span<std::int16_t> columns_;  // [held][out.height][channels], of transposed images
  std::span<const std::int16_t*> column_sources_;
};

}  // namespace plimsoll
