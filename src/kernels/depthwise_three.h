// The inner loops of 3x3 depthwise convolutions, cut so that the compiler sees constants only.
#pragma once

#include "kernels/plane.h"
#include "kernels/window.h"

namespace plimsoll::kernels {

template <bool kRelu>
__m256 load_input(const float* x, std::int64_t cell) {
  const __m256 value = load_cell(x, cell);
  return kRelu ? _mm256_max_ps(value, _mm256_setzero_ps()) : value;
}

// Windows that see the same real taps: `tile` rows of `count` windows each, the taps being `rows` x
// `columns` from (first_row, first_column) on.
template <int kTile, int kRows, int kColumns>
struct StretchSize {
  static constexpr int tile = kTile;
  static constexpr int rows = kRows;
  static constexpr int columns = kColumns;
};

struct Stretch {
  std::int64_t first_row, first_column;  // taps
  std::int64_t input;                    // cell of x at the first tap of the first window
  std::int64_t output;                   // cell of y of the first window
  std::int64_t count;
  std::int64_t next_window, next_row, next_column;  // steps in x, in cells, from tap to tap
  std::int64_t next_output_row;
};

// Cuts the rows [rows.first, rows.last) of a 3x3 window's results into stretches: body(StretchSize,
// Stretch) for each, in order. Rows are taken three at a time where that saves loads.
template <class Body>
void for_each_stretch(const Window& window, Range rows, Body body) {
  constexpr int kTile = 3;
  const Slide &h = window.h, &w = window.w;
  const Range inner_h = h.inner(), inner_w = w.inner();
  const bool shares_rows = h.stride == 1 && h.dilation == 1;
  for (std::int64_t oh = rows.first; oh < rows.last;) {
    const bool tiled =
        shares_rows && oh >= inner_h.first && oh + kTile <= std::min(inner_h.last, rows.last);
    const Range taps_h = h.taps(oh);
    for (std::int64_t ow = 0; ow < w.out;) {
      const bool whole = ow >= inner_w.first && ow < inner_w.last;
      const Range taps_w = whole ? Range{0, 3} : w.taps(ow);
      const Stretch stretch = {.first_row = taps_h.first,
                               .first_column = taps_w.first,
                               .input = h.at(oh, taps_h.first) * w.in + w.at(ow, taps_w.first),
                               .output = oh * w.out + ow,
                               .count = whole ? inner_w.last - ow : 1,
                               .next_window = w.stride,
                               .next_row = h.dilation * w.in,
                               .next_column = w.dilation,
                               .next_output_row = w.out};
      const auto with_columns = [&]<int kTileRows, int kRows>(StretchSize<kTileRows, kRows, 0>) {
        switch (taps_w.last - taps_w.first) {
          case 1: body(StretchSize<kTileRows, kRows, 1>{}, stretch); break;
          case 2: body(StretchSize<kTileRows, kRows, 2>{}, stretch); break;
          case 3: body(StretchSize<kTileRows, kRows, 3>{}, stretch); break;
          default: body(StretchSize<kTileRows, 0, 0>{}, stretch); break;  // padding only
        }
      };
      if (tiled)
        with_columns(StretchSize<kTile, 3, 0>{});
      else
        switch (taps_h.last - taps_h.first) {
          case 1: with_columns(StretchSize<1, 1, 0>{}); break;
          case 2: with_columns(StretchSize<1, 2, 0>{}); break;
          case 3: with_columns(StretchSize<1, 3, 0>{}); break;
          default: body(StretchSize<1, 0, 0>{}, stretch); break;
        }
      ow += stretch.count;
    }
    oh += tiled ? kTile : 1;
  }
}

// Sums of products over one stretch. `tap(kh, kw)` is a weight, `put(cell, sum)` takes the results.
// Everything is by value: a store of a vector may alias whatever is reached through a reference,
// which would then be loaded again for every cell.
template <bool kRelu, class Size, class Tap, class Put>
void slide_stretch(const float* x, Stretch s, Tap tap, Put put) {
  constexpr int kTile = Size::tile, kRows = Size::rows, kColumns = Size::columns;
  __m256 weight[kRows + 1][kColumns + 1];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) weight[r][c] = tap(s.first_row + r, s.first_column + c);
  const float* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
    __m256 sum[kTile];
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) sum[t] = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (int r = 0; r < kRows + kTile - 1; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const __m256 value = load_input<kRelu>(corner, r * s.next_row + c * s.next_column);
#pragma GCC unroll 8
        for (int t = 0; t < kTile; ++t)
          if (r - t >= 0 && r - t < kRows)
            sum[t] = _mm256_fmadd_ps(value, weight[r - t][c], sum[t]);
      }
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) put(s.output + t * s.next_output_row + i, sum[t]);
  }
}

// Adds the products of one stretch to the nine taps' sums.
template <bool kRelu, class Size>
void add_stretch(const float* x, const float* dy, Stretch s, __m256* sum) {
  constexpr int kTile = Size::tile, kRows = Size::rows, kColumns = Size::columns;
  __m256 local[kRows + 1][kColumns + 1];
  __m256* first = sum + s.first_row * 3 + s.first_column;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) local[r][c] = first[r * 3 + c];
  const float* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
    __m256 grad[kTile];
#pragma GCC unroll 8
    for (int t = 0; t < kTile; ++t) grad[t] = load_cell(dy, s.output + t * s.next_output_row + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows + kTile - 1; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const __m256 value = load_input<kRelu>(corner, r * s.next_row + c * s.next_column);
#pragma GCC unroll 8
        for (int t = 0; t < kTile; ++t)
          if (r - t >= 0 && r - t < kRows)
            local[r - t][c] = _mm256_fmadd_ps(value, grad[t], local[r - t][c]);
      }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) first[r * 3 + c] = local[r][c];
}

}  // namespace plimsoll::kernels
