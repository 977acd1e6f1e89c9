// The backward of a pool as a gather: each input cell collects from the windows that cover it.
#pragma once

#include <type_traits>

#include "kernels/plane.h"
#include "kernels/window.h"

namespace plimsoll::kernels {

// Fills the plane `dx` (window.h.in x window.w.in cells). Cell (ih, iw) gets the sum of term(oh,
// ow, kh, kw) over the windows (oh, ow) that see it at tap (kh, kw), in a fixed order; zero where
// none does. `inner` stands for `edge` at the columns ow in `fast` and may be the cheaper of the
// two. No dilation.
template <class Inner, class Edge>
void gather_plane(const Window& window, Range fast, float* dx, Inner inner, Edge edge) {
  const Slide &h = window.h, &w = window.w;
  for (std::int64_t ih = 0; ih < h.in; ++ih) {
    const std::int64_t reach = ih + h.before;  // window oh sees the row at tap reach - oh * stride
    const std::int64_t begin = reach < h.kernel ? 0 : (reach - h.kernel) / h.stride + 1;
    const std::int64_t end = std::min(h.out, reach / h.stride + 1);
    // Columns with the same remainder by the stride meet the same taps, r, r + stride, ...; counted
    // by q, tap r + j * stride of cell q belongs to window q - j.
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
          __m256 sum = _mm256_setzero_ps();
          for (std::int64_t oh = begin; oh < end; ++oh)
            for (std::int64_t j = 0; j < taps; ++j)
              if (q - j >= 0 && q - j < w.out)
                sum = _mm256_add_ps(sum, edge(oh, q - j, reach - oh * h.stride, r + j * w.stride));
          _mm256_storeu_ps(cell(q), sum);
        }
      };
      const auto fast_until = [&]<int kTaps>(std::int64_t stop,
                                             std::integral_constant<int, kTaps>) {
        for (; q < stop; ++q) {
          __m256 sum = _mm256_setzero_ps();
          for (std::int64_t oh = begin; oh < end; ++oh)
            for (int j = 0; j < kTaps; ++j)
              sum = _mm256_add_ps(sum, inner(oh, q - j, reach - oh * h.stride, r + j * w.stride));
          _mm256_storeu_ps(cell(q), sum);
        }
      };
      slow_until(std::clamp(fast.first + taps - 1, q, std::max(q, q_end)));
      const std::int64_t fast_end = std::clamp(fast.last, q, std::max(q, q_end));
      switch (taps) {
        case 1: fast_until(fast_end, std::integral_constant<int, 1>{}); break;
        case 2: fast_until(fast_end, std::integral_constant<int, 2>{}); break;
        case 3: fast_until(fast_end, std::integral_constant<int, 3>{}); break;
        default: break;
      }
      slow_until(q_end);
    }
  }
}

}  // namespace plimsoll::kernels
