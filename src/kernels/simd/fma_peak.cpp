#include "kernels/fma_peak.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

constexpr int kChains = 12;  // enough independent sums to hide the latency of two units
constexpr std::int64_t kRounds = 4'000'000;

// Returns something that depends on every operation, so that none is left out.
float spin(float seed) {
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = splat(seed + static_cast<float>(i));
  const Vec a = splat(0.999999F);
  const Vec b = splat(1e-6F);
  for (std::int64_t round = 0; round < kRounds; ++round)
    for (Vec& sum : sums) sum = fma(sum, a, b);
  Vec total = zero();
  for (const Vec& sum : sums) total = add(total, sum);
  return first_lane(total);
}

}  // namespace

double measure_fma_peak_gflops() {
  double best = 0;
  float sink = 0;
  for (int run = 0; run < 5; ++run) {
    int threads = 1;
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : sink)
    {
#pragma omp single
      threads = omp_get_num_threads();
      sink += spin(static_cast<float>(omp_get_thread_num()));
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double flops = 2.0 * kLanes * kChains * static_cast<double>(kRounds) * threads;
    best = std::max(best, flops / seconds * 1e-9);
  }
  // Never true; keeps the loops from being left out.
  return sink == 0.123456F ? 0 : best;
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
