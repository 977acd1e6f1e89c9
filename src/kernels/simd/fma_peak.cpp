#include "kernels/fma_peak.h"

#include "kernels/simd/peak_loop.h"
#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// Returns something that depends on every operation, so that none is left out.
float spin(float seed) {
  Vec sums[kPeakChains];
  for (int i = 0; i < kPeakChains; ++i) sums[i] = splat(seed + static_cast<float>(i));
  const Vec a = splat(0.999999F);
  const Vec b = splat(1e-6F);
  for (std::int64_t round = 0; round < kPeakRounds; ++round)
    for (Vec& sum : sums) sum = fma(sum, a, b);
  Vec total = zero();
  for (const Vec& sum : sums) total = add(total, sum);
  return first_lane(total);
}

}  // namespace

double measure_fma_peak_gflops() { return best_of_spins(2.0 * kLanes, spin); }

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
