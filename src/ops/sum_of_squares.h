// The sum of squares of a tensor, the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernel.h"

namespace plimsoll::ops {

// Over all stored elements of a dense tensor of real numbers, in f64: fixed pieces, added up in
// order.
inline double sum_of_squares(const TensorView& view) {
  constexpr std::int64_t kMostPieces = 4096;
  const std::int64_t elements = view.spec.stored_elements();
  const std::int64_t piece =
      std::max<std::int64_t>(16384, (elements + kMostPieces - 1) / kMostPieces);
  const std::int64_t count = (elements + piece - 1) / piece;
  double sums[kMostPieces];
  for_real(view.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < count; ++p) {
      const T* x = view.as<T>();
      double sum[8] = {};
      const std::int64_t end = std::min(elements, (p + 1) * piece);
      std::int64_t i = p * piece;
      for (; i + 8 <= end; i += 8)
        for (int lane = 0; lane < 8; ++lane) {
          const auto v = static_cast<double>(x[i + lane]);
          sum[lane] += v * v;
        }
      for (; i < end; ++i) sum[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      double whole = 0;
      for (double lane : sum) whole += lane;
      sums[p] = whole;
    }
  });
  double total = 0;
  for (std::int64_t p = 0; p < count; ++p) total += sums[p];
  return total;
}

}  // namespace plimsoll::ops
