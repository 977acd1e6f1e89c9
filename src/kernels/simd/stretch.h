// 3x3 windows sorted by what they see, so that loops over taps have constant bounds even at the
// margins.
#pragma once

#include "kernels/simd/vec.h"
#include "kernels/window.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Windows that see the same real taps: `tile` rows of Stretch::count windows each, the taps being
// `rows` x `columns`.
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

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
