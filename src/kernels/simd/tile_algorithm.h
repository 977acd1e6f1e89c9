// A Cook-Toom algorithm in each direction, on tiles of one block of channels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/convolution_shape.h"
#include "kernels/simd/plane.h"
#include "kernels/simd/tile_transform.h"
#include "kernels/window.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// One direction: the matrices of cook_toom() under the names of what they are applied to.
template <int m_, int r_, const auto& points>
struct TileLine {
  static constexpr CookToom<m_, r_> kTable = cook_toom<m_, r_>(points);
  static constexpr int m = m_, r = r_, n = m_ + r_ - 1;
  static constexpr Matrix<n, n> kInput = kTable.input;
  static constexpr Matrix<n, r> kWeight = kTable.weight;
  static constexpr Matrix<n, m> kOutputTurned = transposed<m, n>(kTable.output);
};

inline constexpr std::array<double, 0> kNoPoints{};
inline constexpr std::array<double, 3> kThreePoints{0, 1, -1};
// Of all multiples of an eighth, those that round least.
inline constexpr std::array<double, 5> kFivePoints{0, 0.625, -0.625, 1.5, -1.5};
inline constexpr std::array<double, 7> kSevenPoints{0, 0.5, -0.5, 1, -1, 2, -2};
inline constexpr std::array<double, 9> kNinePoints{0,    0.375, -0.375, 0.75, -0.75,
                                                   1.25, -1.25, 2.25,   -2.25};

using OneTap = TileLine<1, 1, kNoPoints>;
using TwoOfThree = TileLine<2, 3, kThreePoints>;
using FourOfThree = TileLine<4, 3, kFivePoints>;
using FourOfFive = TileLine<4, 5, kSevenPoints>;
using FourOfSeven = TileLine<4, 7, kNinePoints>;

// Rows and columns. Arrays of vectors are row by row.
template <class H, class W>
struct TileAlgorithm {
  static constexpr int kHigh = H::m, kWide = W::m;  // results of a tile
  static constexpr int kTapsHigh = H::r, kTapsWide = W::r;
  static constexpr int kReadsHigh = H::n, kReadsWide = W::n;  // cells that a tile reads
  static constexpr int kPoints = H::n * W::n;
  static constexpr int kBlocks = 1;           // of channels, and of filters, that are one unit
  static constexpr double kTransforms = 0.2;  // what they take, in direct convolutions
  static constexpr bool kPaired = false;      // lanes are floats

  static void transform_input(Vec* cells, Vec* to) {
    Vec half[kPoints];
    for (int j = 0; j < W::n; ++j) multiply_rows<H::kInput>(cells + j, W::n, half + j, W::n);
    for (int i = 0; i < H::n; ++i) multiply_rows<W::kInput>(half + i * W::n, 1, to + i * W::n, 1);
  }
  static void transform_weights(const Vec* taps, Vec* to) {
    Vec half[H::n * W::r];
    for (int j = 0; j < W::r; ++j) multiply_rows<H::kWeight>(taps + j, W::r, half + j, W::r);
    for (int i = 0; i < H::n; ++i) multiply_rows<W::kWeight>(half + i * W::r, 1, to + i * W::n, 1);
  }
  // Results from products; these are written over.
  static void transform_output(Vec* products, Vec* to) {
    Vec half[H::m * W::n];
    for (int j = 0; j < W::n; ++j)
      multiply_columns<H::kOutputTurned>(products + j, W::n, half + j, W::n);
    for (int i = 0; i < H::m; ++i)
      multiply_columns<W::kOutputTurned>(half + i * W::n, 1, to + i * W::m, 1);
  }
  // The two transposes that the gradient of weights takes.
  static void transform_gradient(const Vec* cells, Vec* to) {
    Vec half[H::n * W::m];
    for (int j = 0; j < W::m; ++j) multiply_rows<H::kOutputTurned>(cells + j, W::m, half + j, W::m);
    for (int i = 0; i < H::n; ++i)
      multiply_rows<W::kOutputTurned>(half + i * W::m, 1, to + i * W::n, 1);
  }
  static void gather_weights(Vec* products, Vec* to) {
    Vec half[H::r * W::n];
    for (int j = 0; j < W::n; ++j) multiply_columns<H::kWeight>(products + j, W::n, half + j, W::n);
    for (int i = 0; i < H::r; ++i)
      multiply_columns<W::kWeight>(half + i * W::n, 1, to + i * W::r, 1);
  }
};

// One tap, for gradients of weights, whose sums run over cells: a tile is a cell of floats, or two
// of bf16 side by side in every lane.
template <class T>
struct CellsOf {
  static constexpr bool kPaired = std::is_same_v<T, Bf16>;
  static constexpr int kHigh = 1, kWide = kPaired ? 2 : 1;
  static constexpr int kTapsHigh = 1, kTapsWide = 1;
  static constexpr int kPoints = 1;
  static constexpr int kBlocks = 1;
  static constexpr double kTransforms = 0.2;

  // `cells` of them, row by row; zero stands beside a last odd one.
  static void take(const T* from, std::int64_t cells, float* to) {
    for (std::int64_t i = 0; i < cells; i += kWide, from += kWide * kLanes, to += kLanes) {
      Vec v = load(from);
      if constexpr (kPaired) {
        const IntVec first = shift_right<16>(bits_of(v));
        v = floats_of(i + 1 < cells ? either(first, bits_of(load(from + kLanes))) : first);
      }
      store(to, v);
    }
  }
  static void gather_weights(const Vec* products, Vec* to) { to[0] = products[0]; }
};

// Where tiles lie: image by image, row by row.
struct TileGrid {
  std::int64_t rows, columns;  // of tiles in an image

  struct Place {
    std::int64_t image, row, column;
  };
  Place at(std::int64_t tile) const {
    return {tile / (rows * columns), tile / columns % rows, tile % columns};
  }
  void advance(Place& place) const {
    if (++place.column < columns) return;
    place.column = 0;
    if (++place.row < rows) return;
    place.row = 0;
    ++place.image;
  }
};

// A high x wide rectangle of the cells of a plane, whose top left is (top, left); cells beyond the
// plane's edges are zeros.
template <int kHigh, int kWide, class T>
inline void load_cells(const T* plane, std::int64_t height, std::int64_t width, std::int64_t top,
                       std::int64_t left, Vec* to) {
  const T* from = plane + (top * width + left) * kLanes;
  if (top >= 0 && left >= 0 && top + kHigh <= height && left + kWide <= width) {
    for (int i = 0; i < kHigh; ++i, from += width * kLanes)
      for (int j = 0; j < kWide; ++j) to[i * kWide + j] = load(from + kLanes * j);
    return;
  }
  for (int i = 0; i < kHigh; ++i, from += width * kLanes)
    for (int j = 0; j < kWide; ++j) {
      const bool is_inside = top + i >= 0 && top + i < height && left + j >= 0 && left + j < width;
      to[i * kWide + j] = is_inside ? load(from + kLanes * j) : zero();
    }
}

template <int kHigh, int kWide, class T>
inline void store_cells(const Vec* from, T* plane, std::int64_t height, std::int64_t width,
                        std::int64_t top, std::int64_t left) {
  const std::int64_t high = height - top < kHigh ? height - top : kHigh;
  const std::int64_t wide = width - left < kWide ? width - left : kWide;
  for (std::int64_t i = 0; i < high; ++i)
    for (std::int64_t j = 0; j < wide; ++j)
      store(plane + ((top + i) * width + left + j) * kLanes, from[i * kWide + j]);
}

// Images of `blocks` blocks of channels whose planes are height x width cells: as their tensor
// says, or in one row.
struct TiledPlanes {
  std::int64_t blocks, height, width;

  // The same rectangle in kBlocks blocks from `block` on, whatever the elements are; blocks that
  // there are not are zeros.
  template <int kBlocks, int kHigh, int kWide>
  void load(const TensorView& images, std::int64_t image, std::int64_t block, std::int64_t top,
            std::int64_t left, Vec* to) const {
    with_element(images, [&]<class T>() {
      for (int b = 0; b < kBlocks; ++b, to += kHigh * kWide)
        if (kBlocks == 1 || block + b < blocks)
          load_cells<kHigh, kWide>(plane<T>(images, image, block + b), height, width, top, left,
                                   to);
        else
          std::fill_n(to, kHigh * kWide, zero());
    });
  }
  template <int kHigh, int kWide>
  void store(const Vec* from, const TensorView& images, std::int64_t image, std::int64_t block,
             std::int64_t top, std::int64_t left) const {
    with_element(images, [&]<class T>() {
      store_cells<kHigh, kWide>(from, plane<T>(images, image, block), height, width, top, left);
    });
  }
};

// With one tap an image is a row of cells.
inline ConvolutionShape in_one_row(ConvolutionShape shape) {
  const std::int64_t cells = shape.window.h.in * shape.window.w.in;
  shape.window = {.h = {.in = 1, .out = 1}, .w = {.in = cells, .out = cells}};
  return shape;
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
