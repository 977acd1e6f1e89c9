#include "draw/mosaic.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "draw/bitmap_font.h"
#include "draw/png.h"

namespace plimsoll::draw {
namespace {

constexpr std::int64_t kLeastSide = 128, kMostSide = 256;
constexpr std::int64_t kGap = 10;
constexpr std::int64_t kLetter = 2;  // pixels of the sheet for one of the font
constexpr std::int64_t kLabelHeight = kGlyphHeight * kLetter + 8;
constexpr BoxStyle kBoxes{.line = 1, .letter = 1};
constexpr std::uint8_t kPaper = 255, kInk = 30;

// Where tiles lie on a sheet.
struct Grid {
  std::int64_t grow = 1, shrink = 1;  // of a tile's pixels
  std::int64_t tile_width = 0, tile_height = 0;
  std::int64_t columns = 0, width = 0, height = 0;
};

Grid grid_of(std::int64_t count, const TileShape& shape, bool in_pairs) {
  Grid grid;
  const std::int64_t longer = std::max(shape.width, shape.height);
  grid.grow = std::max<std::int64_t>(1, (kLeastSide + longer - 1) / longer);
  grid.shrink = (longer + kMostSide - 1) / kMostSide;
  grid.tile_width = (shape.width + grid.shrink - 1) / grid.shrink * grid.grow;
  grid.tile_height = (shape.height + grid.shrink - 1) / grid.shrink * grid.grow;
  // A little wider than high, as screens are.
  grid.columns = std::min<std::int64_t>(
      count, static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count) * 1.6))));
  if (in_pairs) grid.columns = std::max<std::int64_t>(2, grid.columns / 2 * 2);
  const std::int64_t rows = (count + grid.columns - 1) / grid.columns;
  grid.width = kGap + grid.columns * (grid.tile_width + kGap);
  grid.height = kGap + rows * (grid.tile_height + kLabelHeight + kGap);
  return grid;
}

class Sheet {
 public:
  Sheet(std::int64_t width, std::int64_t height)
      : width_(width),
        height_(height),
        pixels_(static_cast<std::size_t>(width * height * 3), kPaper) {}

  std::uint8_t* at(std::int64_t x, std::int64_t y) { return pixels_.data() + (y * width_ + x) * 3; }

  void write(std::int64_t x, std::int64_t y, std::string_view words) {
    for (const char letter : words) {
      for (std::int64_t row = 0; row < kGlyphHeight * kLetter; ++row)
        for (std::int64_t column = 0; column < kGlyphWidth * kLetter; ++column)
          if (glyph_pixel(letter, column / kLetter, row / kLetter))
            std::fill_n(at(x + column, y + row), 3, kInk);
      x += kGlyphAdvance * kLetter;
    }
  }

  PixelView part(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) {
    return {.pixels = at(x, y), .width = width, .height = height, .row_bytes = 3 * width_};
  }

  std::string png() const { return encode_png(width_, height_, 3, pixels_); }

 private:
  std::int64_t width_, height_;
  std::vector<std::uint8_t> pixels_;
};

// The mean of a square of pixels, or one of them: `shrink` is 1 where tiles are enlarged.
std::uint8_t sample(const Tile& tile, const TileShape& shape, std::int64_t x, std::int64_t y,
                    std::int64_t channel, std::int64_t shrink) {
  std::int64_t sum = 0, count = 0;
  for (std::int64_t row = y; row < std::min(y + shrink, shape.height); ++row)
    for (std::int64_t column = x; column < std::min(x + shrink, shape.width); ++column, ++count)
      sum += tile.pixels[static_cast<std::size_t>((row * shape.width + column) * shape.channels +
                                                  std::min(channel, shape.channels - 1))];
  return static_cast<std::uint8_t>(sum / std::max<std::int64_t>(1, count));
}

// Boxes of a tile as they lie on the sheet.
std::vector<DrawnBox> scaled(std::vector<DrawnBox> boxes, const Grid& grid) {
  const double scale = static_cast<double>(grid.grow) / static_cast<double>(grid.shrink);
  for (DrawnBox& box : boxes)
    for (double* corner : {&box.x0, &box.y0, &box.x1, &box.y1}) *corner *= scale;
  return boxes;
}

std::string fitting(const std::string& label, std::int64_t width) {
  const auto room = static_cast<std::size_t>(width / (kGlyphAdvance * kLetter));
  return label.size() <= room || room < 3 ? label.substr(0, room)
                                          : label.substr(0, room - 2) + "..";
}

}  // namespace

std::string mosaic_png(std::span<const Tile> tiles, const TileShape& shape, bool in_pairs) {
  tiles = tiles.first(std::min(tiles.size(), kMostTiles));
  if (tiles.empty()) return Sheet(2 * kGap, 2 * kGap).png();
  expect(shape.width > 0 && shape.height > 0 && (shape.channels == 1 || shape.channels == 3),
         "tiles are pictures, grey or RGB");
  for (const Tile& tile : tiles)
    expect(std::cmp_equal(tile.pixels.size(), shape.width * shape.height * shape.channels),
           "a tile has the pixels of its shape");
  const auto count = static_cast<std::int64_t>(tiles.size());
  const Grid grid = grid_of(count, shape, in_pairs);
  Sheet sheet(grid.width, grid.height);
  for (std::int64_t i = 0; i < count; ++i) {
    const Tile& tile = tiles[static_cast<std::size_t>(i)];
    const std::int64_t left = kGap + i % grid.columns * (grid.tile_width + kGap);
    const std::int64_t top = kGap + i / grid.columns * (grid.tile_height + kLabelHeight + kGap);
    for (std::int64_t y = 0; y < grid.tile_height; ++y)
      for (std::int64_t x = 0; x < grid.tile_width; ++x)
        for (std::int64_t c = 0; c < 3; ++c)
          sheet.at(left + x, top + y)[c] = sample(tile, shape, x / grid.grow * grid.shrink,
                                                  y / grid.grow * grid.shrink, c, grid.shrink);
    draw_boxes(sheet.part(left, top, grid.tile_width, grid.tile_height), scaled(tile.boxes, grid),
               kBoxes);
    sheet.write(left, top + grid.tile_height + 5, fitting(tile.label, grid.tile_width));
  }
  return sheet.png();
}

std::int64_t mosaic_bytes(std::size_t tiles, const TileShape& shape, bool in_pairs) {
  const Grid grid = grid_of(
      static_cast<std::int64_t>(std::clamp<std::size_t>(tiles, 1, kMostTiles)), shape, in_pairs);
  return grid.width * grid.height * 3;
}

}  // namespace plimsoll::draw
