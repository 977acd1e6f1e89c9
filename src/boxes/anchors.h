// Where a detector looks: boxes of fixed sizes at every cell of its levels, as integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boxes/box.h"

namespace plimsoll::boxes {

// Half the sides of an anchor. Its corners are integers, symmetric about its cell's origin.
struct HalfSides {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool operator==(const HalfSides&) const = default;
};

// torchvision's anchors of one cell: sides s / sqrt(r) and s * sqrt(r) computed in f32, halved and
// rounded half to even; ratio (height by width) slowest, size fastest.
std::vector<HalfSides> anchor_shapes(std::span<const std::int64_t> sizes,
                                     std::span<const double> ratios);

// A base size with those a third and two thirds of an octave above it, cut to integers.
std::vector<std::int64_t> octave_sizes(std::int64_t base);

// One level: `shapes` at every cell, cells row by row. The anchor of shape a at (row, column) lies
// about (column * stride_x, row * stride_y), with no half-cell offset, and is neither clipped nor
// dropped at the edge. Its number within the level is (row * columns + column) * shapes + a.
struct AnchorLevel {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride_y = 0;
  std::int64_t stride_x = 0;
  std::vector<HalfSides> shapes = {};

  std::int64_t count() const { return rows * columns * static_cast<std::int64_t>(shapes.size()); }
  // Exact in a float.
  template <class T>
  Box<T> box(std::int64_t row, std::int64_t column, std::int64_t shape) const {
    const HalfSides& half = shapes[static_cast<std::size_t>(shape)];
    const std::int64_t x = column * stride_x;
    const std::int64_t y = row * stride_y;
    return {static_cast<T>(x - half.width), static_cast<T>(y - half.height),
            static_cast<T>(x + half.width), static_cast<T>(y + half.height)};
  }
};

// A level of rows x columns cells over a canvas. Strides are the canvas' sides divided by the
// cells and rounded down, not powers of two: 800 pixels in 13 cells are 61 apart.
AnchorLevel anchor_level(std::int64_t canvas_height, std::int64_t canvas_width, std::int64_t rows,
                         std::int64_t columns, std::vector<HalfSides> shapes);

}  // namespace plimsoll::boxes
