// The compressed indices of a GIF's frame, expanded.
#pragma once

#include <cstdint>
#include <span>

#include "data/codec/codec.h"

namespace plimsoll {

// LZW with codes of up to 12 bits, in blocks of up to 255 bytes.
class GifCodes {
 public:
  // `at`: of the byte that tells the size of the first codes. The image must outlive it, and the
  // room holds its tables. DataError on damage here and in all members.
  GifCodes(const EncodedImage& image, std::size_t at, Room& room);

  // The next indices.
  void read(std::span<std::uint8_t> indices);
  // After the last: the blocks must come to their end.
  void finish();

  static Bytes bytes();

 private:
  static constexpr unsigned kCodes = 4096;
  struct Tables {
    std::uint16_t prefix[kCodes];
    std::uint8_t suffix[kCodes];
    std::uint8_t stack[kCodes];  // what a code stands for, last index first
  };

  [[noreturn]] void fail(const char* what) const;
  unsigned next_byte();
  unsigned next_code();
  // Puts what a code stands for onto the stack.
  void expand(unsigned code);

  const EncodedImage& image_;
  std::size_t at_;
  std::size_t block_left_ = 0;
  Tables& tables_;
  unsigned first_size_;  // bits of a literal
  unsigned size_;        // bits of the next code
  unsigned next_ = 0;    // the code that is defined next
  std::uint32_t bits_ = 0;
  unsigned bit_count_ = 0;
  unsigned before_;  // the code before; kCodes: none
  std::size_t stacked_ = 0;
};

}  // namespace plimsoll
