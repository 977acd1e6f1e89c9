#include "kernels/paired_weights.h"

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

void store_pairs(Bf16* to, Vec first, Vec second) {
  const IntVec lower = shift_right<16>(bits_of(near_bf16(first)));
  const IntVec upper = both(bits_of(near_bf16(second)), splat_ints(~std::int64_t{0xFFFF}));
  store(reinterpret_cast<float*>(to), floats_of(either(lower, upper)));
}

void pair_block(std::int64_t rows, const float* from, Bf16* to) {
  for (std::int64_t r = 0; r < rows; r += 2)
    store_pairs(to + r * kLanes, load(from + r * kLanes),
                r + 1 < rows ? load(from + (r + 1) * kLanes) : zero());
}

}  // namespace

void pair_rows(std::int64_t count, std::int64_t rows, const float* from, Bf16* to) noexcept {
  const std::int64_t stored = (rows + 1) / 2 * 2;
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i)
    pair_block(rows, from + i * rows * kLanes, to + i * stored * kLanes);
}

void pair_columns(const BlockMatrix& blocks, const float* from, Bf16* to) noexcept {
  constexpr std::int64_t kSize = kLanes * kLanes;
#pragma omp parallel for collapse(2)
  for (std::int64_t a = 0; a < blocks.outer; ++a)
    for (std::int64_t b = 0; b < blocks.inner; ++b) {
      alignas(64) float turned[kSize];
      transpose_block(from + kSize * (a * blocks.inner + b), kLanes, turned, kLanes);
      pair_block(kLanes, turned, to + kSize * blocks.place(a, b));
    }
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
