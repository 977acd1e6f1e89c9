#include "base/bytes.h"

#include <gtest/gtest.h>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(Bytes, AddsAndScalesLikeNumbers) {
  EXPECT_EQ(1_MiB + 1_KiB, Bytes{1'049'600});
  EXPECT_EQ(3 * 2_KiB - 1_B, Bytes{6143});
  EXPECT_EQ(1_GiB / 3, Bytes{357'913'941});
  EXPECT_DOUBLE_EQ(1_GiB / 512_MiB, 2.0);
  EXPECT_LT(1_GiB, kUnlimited);
}

TEST(Bytes, ReadsTheUnitsPeopleWrite) {
  EXPECT_EQ(parse_bytes("2GiB"), 2_GiB);
  EXPECT_EQ(parse_bytes("1.5GB"), Bytes{1'500'000'000});
  EXPECT_EQ(parse_bytes("800MiB"), 800_MiB);
  EXPECT_EQ(parse_bytes("4096"), Bytes{4096});
  EXPECT_EQ(parse_bytes("4096B"), Bytes{4096});
  EXPECT_EQ(parse_bytes("1 kib"), 1_KiB);
  EXPECT_EQ(parse_bytes("0.5TiB"), 512_GiB);
  EXPECT_EQ(parse_bytes("unlimited"), kUnlimited);
}

TEST(Bytes, DropsAPartOfAByteAndNoMore) {
  EXPECT_EQ(parse_bytes("0.1KiB"), Bytes{102});
  EXPECT_EQ(parse_bytes("0.3KB"), Bytes{300});
  EXPECT_EQ(parse_bytes("1.999999999GB"), Bytes{1'999'999'999});
  EXPECT_EQ(parse_bytes("0.99999999999999999999999999999999999999TiB"), Bytes{1'099'511'627'775});
}

TEST(Bytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", " ", "GiB", "two", "2XiB", "2GiBs", "1..5GB", "1.GB", ".5GB", "+1",
                           "1e9", "0x10", "2 GiB ", " 2GiB", "2  GiB", "nan", "inf", "1.5", "1.0B"})
    EXPECT_THROW(parse_bytes(text), UsageError) << "'" << text << "'";
}

TEST(Bytes, RefusesZeroAndNegativeSizes) {
  for (const char* text : {"0", "0GiB", "0.0GB", "0.0001KiB", "-1", "-2GiB"})
    EXPECT_THROW(parse_bytes(text), UsageError) << "'" << text << "'";
}

TEST(Bytes, RefusesSizesBeyondSixtyThreeBits) {
  EXPECT_EQ(parse_bytes("9223372036854775806"), Bytes{9'223'372'036'854'775'806});
  for (const char* text : {"9223372036854775807", "9223372036854775808", "8388608TiB",
                           "99999999999999999999999GiB", "9223372.037TB"})
    EXPECT_THROW(parse_bytes(text), UsageError) << "'" << text << "'";
}

TEST(Bytes, SaysWhichOptionWasWrongAndWhatToWrite) {
  EXPECT_COMPLAINT(parse_bytes("lots", "--memory"), UsageError, "--memory: 'lots'");
  EXPECT_COMPLAINT(parse_bytes("2G", "--memory"), UsageError, "hint: write 2GiB");
}

TEST(Bytes, PrintsForPeople) {
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(1023_B), "1023 B");
  EXPECT_EQ(to_string(1_KiB), "1 KiB");
  EXPECT_EQ(to_string(Bytes{2'061'584'302}), "1.92 GiB");
  EXPECT_EQ(to_string(1_GiB + 1_B), "1.00 GiB");
  EXPECT_EQ(to_string(1_GiB - 1_B), "1.00 GiB");
  EXPECT_EQ(to_string(2_GiB), "2 GiB");
  EXPECT_EQ(to_string(-3_MiB), "-3 MiB");
  EXPECT_EQ(to_string(kUnlimited), "unlimited");
  EXPECT_EQ(to_string(Bytes{std::numeric_limits<std::int64_t>::min()}), "-8388608 TiB");
}

}  // namespace
}  // namespace plimsoll
