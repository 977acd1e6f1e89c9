// Compiled once, not by variant: its instructions are those of one kind of processor.
#include <immintrin.h>

#include "kernels/fma_peak.h"
#include "kernels/simd/peak_loop.h"

namespace plimsoll::kernels {
namespace {

// Returns something that depends on every operation, so that none is left out.
__attribute__((target("avx512f,avx512bf16"))) float spin(float seed) {
  __m512 sums[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) sums[i] = _mm512_set1_ps(seed + static_cast<float>(i));
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-6F), _mm512_set1_ps(1e-6F));
  for (std::int64_t round = 0; round < kPeakRounds; ++round)
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, a, a);
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return _mm512_cvtss_f32(total);
}

}  // namespace

double measure_bf16_peak_gflops() { return best_of_spins(2.0 * 32, spin); }

}  // namespace plimsoll::kernels
