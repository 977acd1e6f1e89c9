// Accurate sums over planes, in an order that depends on nothing but their size.
#pragma once

#include "kernels/simd/plane.h"

namespace plimsoll::kernels {

// 8 lanes: short runs of cells are summed in f32, the runs in f64.
class PlaneSum {
 public:
  void add_plane(const float* x, std::int64_t cells) {
    for (std::int64_t i = 0; i < cells; i += kRun)
      add(run_of(x + i * kLanes, std::min(kRun, cells - i)));
  }

  void add(__m256 value) {
    low_ = _mm256_add_pd(low_, _mm256_cvtps_pd(_mm256_castps256_ps128(value)));
    high_ = _mm256_add_pd(high_, _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)));
  }

  __m256 scaled(double factor) const {
    const __m256d scale = _mm256_set1_pd(factor);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high_, scale)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(low_, scale)));
  }

 private:
  static constexpr std::int64_t kRun = 64;

  static __m256 run_of(const float* x, std::int64_t cells) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    std::int64_t i = 0;
    for (; i + 4 <= cells; i += 4) {
      a = _mm256_add_ps(a, load_cell(x, i));
      b = _mm256_add_ps(b, load_cell(x, i + 1));
      c = _mm256_add_ps(c, load_cell(x, i + 2));
      d = _mm256_add_ps(d, load_cell(x, i + 3));
    }
    for (; i < cells; ++i) a = _mm256_add_ps(a, load_cell(x, i));
    return _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
  }

  __m256d low_ = _mm256_setzero_pd();
  __m256d high_ = _mm256_setzero_pd();
};

}  // namespace plimsoll::kernels
