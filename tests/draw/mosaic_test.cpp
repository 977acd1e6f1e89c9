#include "draw/mosaic.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <vector>

#include "draw/bitmap_font.h"

namespace plimsoll::draw {
namespace {

struct Decoded {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  const std::uint8_t* at(std::int64_t x, std::int64_t y) const {
    return pixels.data() + (y * width + x) * 3;
  }
};

Decoded decode(const std::string& png) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  Decoded decoded{.width = image.width, .height = image.height};
  decoded.pixels.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, decoded.pixels.data(), 0, nullptr), 0);
  return decoded;
}

TEST(Mosaic, ShowsEveryTileWithItsLabel) {
  const std::vector<std::uint8_t> red = [] {
    std::vector<std::uint8_t> pixels(32 * 32 * 3, 0);
    for (std::size_t i = 0; i < pixels.size(); i += 3) pixels[i] = 200;
    return pixels;
  }();
  const std::vector<Tile> tiles(5, {red, "H"});
  const Decoded sheet = decode(mosaic_png(tiles, {.width = 32, .height = 32}));
  // Tiles of 128 in three columns and two rows, 10 between, 22 for a label.
  EXPECT_EQ(sheet.width, 10 + 3 * 138);
  EXPECT_EQ(sheet.height, 10 + 2 * (128 + 22 + 10));
  EXPECT_EQ(sheet.at(10, 10)[0], 200);
  EXPECT_EQ(sheet.at(10, 10)[1], 0);
  EXPECT_EQ(sheet.at(5, 5)[1], 255);
  // The left bar of the H.
  EXPECT_LT(sheet.at(10, 10 + 128 + 5)[1], 50);
  EXPECT_EQ(sheet.at(10 + 4, 10 + 128 + 5)[1], 255);
}

TEST(Mosaic, ShrinksLargeTilesAndTakesGrey) {
  const std::vector<std::uint8_t> grey(600 * 500, 77);
  const std::vector<Tile> tiles = {
      {grey, "a label that is much too long for the tile it is under"}};
  const Decoded sheet = decode(mosaic_png(tiles, {.width = 600, .height = 500, .channels = 1}));
  EXPECT_EQ(sheet.width, 20 + 200);
  EXPECT_EQ(sheet.at(100, 100)[2], 77);
}

TEST(Mosaic, TakesNothingAndTooMuch) {
  EXPECT_GT(decode(mosaic_png({}, {})).width, 0);
  const std::vector<std::uint8_t> dot(3, 9);
  const std::vector<Tile> tiles(1000, {dot, "\x01\xFF"});
  EXPECT_LT(decode(mosaic_png(tiles, {.width = 1, .height = 1})).width, 3000);
}

TEST(BitmapFont, HasALetterForEveryPrintableCharacter) {
  for (int c = '!'; c <= '~'; ++c) {
    bool any = false;
    for (int x = 0; x < kGlyphWidth; ++x)
      for (int y = 0; y < kGlyphHeight; ++y) any |= glyph_pixel(static_cast<char>(c), x, y);
    EXPECT_TRUE(any) << c;
  }
  EXPECT_TRUE(glyph_pixel('\xE9', 0, 1) == glyph_pixel('?', 0, 1));
}

}  // namespace
}  // namespace plimsoll::draw
