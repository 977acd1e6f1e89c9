// A batch of pictures on one sheet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "draw/box_picture.h"

namespace plimsoll::draw {

struct Tile {
  std::span<const std::uint8_t> pixels;  // [height][width][channels]
  std::string label;                     // a few words; what does not fit is cut
  std::vector<DrawnBox> boxes = {};      // in pixels of the tile
};

struct TileShape {
  std::int64_t width = 0, height = 0;
  std::int64_t channels = 3;  // 1 or 3
};

// A PNG of the tiles in a grid, row by row, each with its label below. Small tiles are enlarged
// and large ones shrunk by whole factors, so that a sheet can be looked at; at most kMostTiles are
// shown. All tiles have the one shape. No tiles make a small white sheet. `in_pairs`: a tile and
// the next one, from the first on, are beside each other.
inline constexpr std::size_t kMostTiles = 64;
std::string mosaic_png(std::span<const Tile> tiles, const TileShape& shape, bool in_pairs = false);

// Bytes of the sheet's pixels, before they are compressed.
std::int64_t mosaic_bytes(std::size_t tiles, const TileShape& shape, bool in_pairs = false);

}  // namespace plimsoll::draw
