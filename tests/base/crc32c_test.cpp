#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>

namespace plimsoll {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Crc32c, AgreesWithItsCheckValue) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, OfPiecesIsThatOfTheWhole) {
  const std::string_view text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(bytes_of(text.substr(cut)), crc32c(bytes_of(text.substr(0, cut)))),
              crc32c(bytes_of(text)));
}

TEST(Crc32c, IsMaskedAsTfRecordMasksIt) {
  // The header of an 8-byte record whose length field TensorFlow wrote.
  EXPECT_EQ(mask_crc32c(0), 0xA282EAD8U);
  EXPECT_EQ(mask_crc32c(0xFFFFFFFFU), 0xA282EAD7U);
}

}  // namespace
}  // namespace plimsoll
