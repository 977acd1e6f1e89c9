#include "data/picture/orientation.h"

#include <gtest/gtest.h>

#include <string>

#include "data/codec/decode.h"
#include "tests/support/golden_images.h"
#include "tests/support/turned.h"

namespace plimsoll {
namespace {

using tests::as_bytes;

// A TIFF header and one entry, in either byte order.
std::string exif(bool little, std::uint16_t value, std::uint16_t tag = 0x0112,
                 std::uint16_t type = 3) {
  std::string bytes = little ? "II" : "MM";
  const auto put = [&](std::uint32_t number, int size) {
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(number >> 8 * (little ? i : size - 1 - i));
  };
  put(42, 2), put(8, 4), put(1, 2), put(tag, 2), put(type, 2), put(1, 4), put(value, 2), put(0, 2);
  return bytes;
}

TEST(Orientation, IsReadInBothByteOrders) {
  for (std::uint16_t value = 1; value <= 8; ++value)
    for (const bool little : {false, true})
      EXPECT_EQ(exif_orientation(as_bytes(exif(little, value))), value);
}

TEST(Orientation, IsNoneWhereTheBlockSaysNothingOrIsBroken) {
  EXPECT_EQ(exif_orientation({}), std::nullopt);
  EXPECT_EQ(exif_orientation(as_bytes(exif(true, 0))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(exif(true, 9))), 1);
  EXPECT_EQ(exif_orientation(as_bytes(exif(true, 6, 0x0111))), std::nullopt);
  EXPECT_EQ(exif_orientation(as_bytes(exif(true, 6, 0x0112, 2))), 1);
  const std::string whole = exif(false, 6);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(exif_orientation(as_bytes(whole).first(size)), std::nullopt);
}

TEST(Orientation, OfXmpIsReadAsAttributeAndAsElement) {
  const auto read = [](const std::string& text) { return xmp_orientation(as_bytes(text)); };
  EXPECT_EQ(read(R"(<rdf:Description tiff:Make="x" tiff:Orientation="6"/>)"), 6);
  EXPECT_EQ(read("<tiff:Orientation>8</tiff:Orientation>"), 8);
  EXPECT_EQ(read("<tiff:OrientationOf>8</tiff:OrientationOf>"), std::nullopt);
  for (const char* text : {"", "tiff:Orientation", "tiff:Orientation=\"", "tiff:Orientation>9"})
    EXPECT_EQ(read(text), std::nullopt) << text;
}

// A JPEG, PNG and WebP whose XMP asks for a quarter turn, beside EXIF that says another or nothing.
TEST(Orientation, OfXmpCountsWhereExifSaysNothing) {
  const std::string packet = R"(<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>)";
  const auto text_of = [](const std::string& name) {
    const std::vector<std::byte> bytes = tests::golden_file(name);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto big = [](std::size_t number, int size) {
    std::string bytes;
    for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(number >> 8 * i);
    return bytes;
  };
  const auto with_app1 = [&](std::string jpeg) {
    const std::string block = std::string("http://ns.adobe.com/xap/1.0/\0", 29) + packet;
    return jpeg.insert(2, "\xFF\xE1" + big(block.size() + 2, 2) + block);
  };
  const auto orientation = [](const std::string& bytes) {
    return probe_image(as_bytes(bytes), "x").orientation;
  };
  EXPECT_EQ(orientation(with_app1(text_of("rgb420.jpg"))), 6);
  EXPECT_EQ(orientation(with_app1(text_of("turned3.jpg"))), 3);
  EXPECT_EQ(orientation(with_app1(text_of("turned1.jpg"))), 1);
  const std::string text = std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + packet;
  const std::string chunk = big(text.size(), 4) + "iTXt" + text + "cksm";
  EXPECT_EQ(orientation(text_of("rgb.png").insert(33, chunk)), 6);
  std::string webp = text_of("turned8.webp");
  const std::size_t exif = webp.find("EXIF");
  ASSERT_NE(exif, std::string::npos);
  EXPECT_EQ(orientation(webp), 8);
  webp.replace(exif, 4, "XMP ").replace(exif + 8, 19, "tiff:Orientation=\"7");
  EXPECT_EQ(orientation(webp), 7);
}

TEST(Orientation, TurnsRectanglesAsItTurnsPixels) {
  Picture stored_picture;
  stored_picture.reshape(5, 7, 1);
  for (std::size_t i = 0; i < stored_picture.pixels.size(); ++i)
    stored_picture.pixels[i] = static_cast<std::uint8_t>(i);
  const Size size = stored_picture.size();
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Picture turned = tests::turned_upright(stored_picture, orientation);
    EXPECT_EQ(turned.size(), upright(size, orientation));
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        const Rect there = upright(Rect{x, y, 1, 1}, orientation, size);
        EXPECT_EQ(turned.row(there.y)[there.x], stored_picture.row(y)[x]);
        EXPECT_EQ(stored(there, orientation, size), (Rect{x, y, 1, 1}));
        const Point middle = upright(
            Point{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5}, orientation, size);
        EXPECT_EQ(middle.x, static_cast<double>(there.x) + 0.5);
        EXPECT_EQ(middle.y, static_cast<double>(there.y) + 0.5);
      }
    const Rect whole = upright(Rect{0, 0, size.width, size.height}, orientation, size);
    EXPECT_EQ(whole, (Rect{0, 0, turned.width, turned.height}));
  }
}

}  // namespace
}  // namespace plimsoll
