// The backward of a pool as a gather: each input cell collects from the windows that cover it.
#pragma once

#include <array>
#include <type_traits>

#include "kernels/simd/plane.h"
#include "kernels/window.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Cells q in [q, stop) of one row, a stride apart; cell q meets tap kw = first_tap + j * stride of
// window q - j in each row of windows. By value: a store of a vector may alias whatever is reached
// through a reference, which would then be loaded again for every cell.
template <std::size_t kRows, int kTaps, class Row, class T>
void gather_cells(std::array<Row, kRows> rows, std::int64_t q, std::int64_t stop,
                  std::int64_t first_tap, std::int64_t stride, T* dx) {
  if constexpr (Row::kSameForAllTaps && kTaps > 1) {
    // What a column of windows hands out is the same for all cells that it covers.
    const auto column = [&](std::int64_t ow) {
      Vec sum = rows[0](ow, 0);
#pragma GCC unroll 4
      for (std::size_t r = 1; r < kRows; ++r) sum = add(sum, rows[r](ow, 0));
      return sum;
    };
    Vec columns[kTaps];
    if (q < stop)
#pragma GCC unroll 4
      for (int j = 1; j < kTaps; ++j) columns[j] = column(q - kTaps + j);
    for (; q < stop; ++q, dx += stride * kLanes) {
#pragma GCC unroll 4
      for (std::size_t j = 1; j < kTaps; ++j) columns[j - 1] = columns[j];
      columns[kTaps - 1] = column(q);
      Vec sum = columns[0];
#pragma GCC unroll 4
      for (std::size_t j = 1; j < kTaps; ++j) sum = add(sum, columns[j]);
      store(dx, sum);
    }
    return;
  }
  for (; q < stop; ++q, dx += stride * kLanes) {
    Vec sum = zero();
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < kTaps; ++j) sum = add(sum, rows[r](q - j, first_tap + j * stride));
    store(dx, sum);
  }
}

// Fills the plane `dx` (window.h.in x window.w.in cells): cell (ih, iw) gets the sum of what the
// windows (oh, ow) that see it at tap (kh, kw) hand it, in a fixed order; zero where none does.
//   edge(oh, ow, kh, kw)       one window's part
//   row_of(oh, kh)(ow, kw)     the same for ow in `fast`, cheaper: row_of is called once per row
// No dilation.
template <class T, class RowOf, class Edge>
void gather_plane(const Window& window, Range fast, T* dx, RowOf row_of, Edge edge) {
  using Row = std::invoke_result_t<RowOf, std::int64_t, std::int64_t>;
  const Slide &h = window.h, &w = window.w;
  for (std::int64_t ih = 0; ih < h.in; ++ih) {
    const std::int64_t reach = ih + h.before;  // window oh sees the row at tap reach - oh * stride
    const std::int64_t begin = reach < h.kernel ? 0 : (reach - h.kernel) / h.stride + 1;
    const std::int64_t end = std::min(h.out, reach / h.stride + 1);
    const auto row = [&](std::int64_t oh) { return row_of(oh, reach - oh * h.stride); };
    // Columns with the same remainder by the stride meet the same taps, r, r + stride, ...
    for (std::int64_t r = 0; r < w.stride; ++r) {
      const std::int64_t taps = r < w.kernel ? (w.kernel - 1 - r) / w.stride + 1 : 0;
      const std::int64_t last = w.in - 1 + w.before - r;
      const std::int64_t q_end = last < 0 ? 0 : last / w.stride + 1;
      std::int64_t q = (w.before - r + w.stride - 1) / w.stride;
      const auto cell = [&](std::int64_t at) {
        return dx + (ih * w.in + at * w.stride - w.before + r) * kLanes;
      };
      const auto slow_until = [&](std::int64_t stop) {
        for (; q < stop; ++q) {
          Vec sum = zero();
          for (std::int64_t oh = begin; oh < end; ++oh)
            for (std::int64_t j = 0; j < taps; ++j)
              if (q - j >= 0 && q - j < w.out)
                sum = add(sum, edge(oh, q - j, reach - oh * h.stride, r + j * w.stride));
          store(cell(q), sum);
        }
      };
      const auto fast_until = [&]<int kTaps>(std::int64_t stop,
                                             std::integral_constant<int, kTaps>) {
        const auto with = [&]<std::size_t kRows>(const std::array<Row, kRows>& rows) {
          gather_cells<kRows, kTaps>(rows, q, stop, r, w.stride, cell(q));
          q = stop;
        };
        switch (end - begin) {
          case 1: with(std::array{row(begin)}); break;
          case 2: with(std::array{row(begin), row(begin + 1)}); break;
          case 3: with(std::array{row(begin), row(begin + 1), row(begin + 2)}); break;
          default: break;
        }
      };
      slow_until(std::clamp(fast.first + taps - 1, q, std::max(q, q_end)));
      const std::int64_t stop = std::clamp(fast.last, q, std::max(q, q_end));
      switch (taps) {
        case 1: fast_until(stop, std::integral_constant<int, 1>{}); break;
        case 2: fast_until(stop, std::integral_constant<int, 2>{}); break;
        case 3: fast_until(stop, std::integral_constant<int, 3>{}); break;
        default: break;
      }
      slow_until(q_end);
    }
  }
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
