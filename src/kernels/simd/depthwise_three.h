// The inner loops of 3x3 depthwise convolutions, cut so that the compiler sees constants only.
#pragma once

#include "kernels/simd/bn_channels.h"
#include "kernels/simd/plane.h"
#include "kernels/simd/stretch.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// How cells of the input are read; for one block of channels.
struct AsStored {
  template <class T>
  Vec operator()(const T* x, std::int64_t cell) const {
    return load_cell(x, cell);
  }
};

struct Rectified {
  template <class T>
  Vec operator()(const T* x, std::int64_t cell) const {
    return max(load_cell(x, cell), zero());
  }
};

template <Clamp clamp>
struct Normalised {
  Vec scale, shift;
  template <class T>
  Vec operator()(const T* x, std::int64_t cell) const {
    return clamped<clamp>(fma(load_cell(x, cell), scale, shift));
  }
};

// Sums of products over one stretch. `read(x, cell)` is a cell of the input, `tap(kh, kw)` a
// weight, `put(cell, sum)` takes the results. Everything is by value: a store of a vector may alias
// whatever is reached through a reference, which would then be loaded again for every cell.
template <class Size, class T, class Read, class Tap, class Put>
void slide_stretch(const T* x, Stretch s, Read read, Tap tap, Put put) {
  constexpr int kTile = Size::tile, kRows = Size::rows, kColumns = Size::columns;
  Vec weight[kRows + 1][kColumns + 1];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) weight[r][c] = tap(s.first_row + r, s.first_column + c);
  const T* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
    Vec sum[kTile];
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) sum[t] = zero();
#pragma GCC unroll 8
    for (int r = 0; r < kRows + kTile - 1; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const Vec value = read(corner, r * s.next_row + c * s.next_column);
#pragma GCC unroll 8
        for (int t = 0; t < kTile; ++t)
          if (t <= r && r < t + kRows) sum[t] = fma(value, weight[r - t][c], sum[t]);
      }
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) put(s.output + t * s.next_output_row + i, sum[t]);
  }
}

// Adds the products of one stretch to the nine taps' sums.
template <class Size, class T, class Read>
void add_stretch(const T* x, const T* dy, Stretch s, Read read, Vec* sum) {
  constexpr int kTile = Size::tile, kRows = Size::rows, kColumns = Size::columns;
  Vec local[kRows + 1][kColumns + 1];
  Vec* first = sum + s.first_row * 3 + s.first_column;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) local[r][c] = first[r * 3 + c];
  const T* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
    Vec grad[kTile];
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) grad[t] = load_cell(dy, s.output + t * s.next_output_row + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows + kTile - 1; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const Vec value = read(corner, r * s.next_row + c * s.next_column);
#pragma GCC unroll 8
        for (int t = 0; t < kTile; ++t)
          if (t <= r && r < t + kRows) local[r - t][c] = fma(value, grad[t], local[r - t][c]);
      }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) first[r * 3 + c] = local[r][c];
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
