// Who takes the rows of an image as a decoder makes them.
#pragma once

#include <cstdint>

#include "data/picture/picture.h"
#include "data/picture/room.h"

namespace plimsoll {

// The part of a stored image that comes, and how large: `size` rows and columns, the first of them
// at `coverage` (coordinates of the stored image).
struct StoredPart {
  Size size;
  int channels = 3;
  Coverage coverage;
};

// Calls come in this order: begin(), then row(y) and put(y) for y = 0, 1, ... None may throw after
// begin(): C libraries are on the way. A decoder that fails calls nothing more.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // What it needs it takes from the decoder's room, which is emptied after the last row.
  virtual void begin(const StoredPart& part, Room& room) = 0;
  // Where row y is to be written: size.width * channels bytes.
  virtual std::uint8_t* row(std::int64_t y) noexcept = 0;
  // It has been written.
  virtual void put(std::int64_t y) noexcept = 0;
};

}  // namespace plimsoll
