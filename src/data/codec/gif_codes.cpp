#include "data/codec/gif_codes.h"

namespace plimsoll {

GifCodes::GifCodes(const EncodedImage& image, std::size_t at, Room& room)
    : image_(image),
      at_(at),
      tables_(room.take_array<Tables>(1)[0]),
      first_size_(read_number(image, at, 1, Endian::little)),
      size_(first_size_ + 1),
      before_(kCodes) {
  ++at_;
  if (first_size_ < 1 || first_size_ > 8) fail("codes of an impossible size");
  next_ = (1U << first_size_) + 2;
}

Bytes GifCodes::bytes() { return {Room::rounded(sizeof(Tables))}; }

void GifCodes::fail(const char* what) const {
  fail_image(image_, at_, "a GIF that cannot be decoded (" + std::string(what) + ")");
}

unsigned GifCodes::next_byte() {
  const auto byte = [&] {
    if (at_ >= image_.bytes.size())
      fail_image(image_, at_, "the file ends in the middle of the GIF data");
    return std::to_integer<unsigned>(image_.bytes[at_++]);
  };
  if (block_left_ == 0) {
    block_left_ = byte();
    if (block_left_ == 0) fail("its codes end before its pixels");
  }
  --block_left_;
  return byte();
}

unsigned GifCodes::next_code() {
  while (bit_count_ < size_) {
    bits_ |= next_byte() << bit_count_;
    bit_count_ += 8;
  }
  const unsigned code = bits_ & ((1U << size_) - 1);
  bits_ >>= size_;
  bit_count_ -= size_;
  return code;
}

void GifCodes::expand(unsigned code) {
  const unsigned clear = 1U << first_size_;
  while (code >= clear) {
    tables_.stack[stacked_++] = tables_.suffix[code];
    code = tables_.prefix[code];
  }
  tables_.stack[stacked_++] = static_cast<std::uint8_t>(code);
}

void GifCodes::read(std::span<std::uint8_t> indices) {
  const unsigned clear = 1U << first_size_;
  for (std::size_t i = 0; i < indices.size();) {
    if (stacked_ > 0) {
      indices[i++] = tables_.stack[--stacked_];
      continue;
    }
    const unsigned code = next_code();
    if (code == clear) {
      size_ = first_size_ + 1;
      next_ = clear + 2;
      before_ = kCodes;
      continue;
    }
    if (code == clear + 1) fail("it ends before its pixels");
    if (before_ == kCodes) {
      if (code > clear) fail("a code that stands for nothing");
      expand(code);
      before_ = code;
      continue;
    }
    if (code > next_ || (code == next_ && next_ >= kCodes)) fail("a code that stands for nothing");
    // The code that is being defined: what the one before stands for, and its first index again.
    const bool is_new = code == next_;
    if (is_new) ++stacked_;
    const std::size_t last = stacked_ - (is_new ? 1 : 0);
    expand(is_new ? before_ : code);
    const std::uint8_t first = tables_.stack[stacked_ - 1];
    if (is_new) tables_.stack[last] = first;
    if (next_ < kCodes) {
      tables_.prefix[next_] = static_cast<std::uint16_t>(before_);
      tables_.suffix[next_] = first;
      ++next_;
      if (next_ == (1U << size_) && size_ < 12) ++size_;
    }
    before_ = code;
  }
}

void GifCodes::finish() {
  while (true) {
    if (block_left_ > image_.bytes.size() - at_)
      fail_image(image_, image_.bytes.size(), "the file ends in the middle of the GIF data");
    at_ += block_left_;
    if (at_ >= image_.bytes.size())
      fail_image(image_, at_, "the file ends in the middle of the GIF data");
    block_left_ = std::to_integer<std::size_t>(image_.bytes[at_++]);
    if (block_left_ == 0) return;
  }
}

}  // namespace plimsoll
