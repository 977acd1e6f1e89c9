// Products of matrices that lie as tiles do: [blocks of channels][tiles][channels of a block].
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Rows of one product whose sums, three vectors each, stay in registers because every loop over
// them is unrolled. Three wide they take fewer loads than two, and AVX2 reaches its peak.
inline constexpr int kProductRows = kSumRows * 2 / 3;

// Blocks of results that one product makes: three, but the last four are two and two.
struct Strip {
  std::int64_t first, vecs;
};
inline std::int64_t strips_of(std::int64_t blocks) { return ceil_div(blocks, 3); }
inline Strip strip_at(std::int64_t strip, std::int64_t blocks) {
  const std::int64_t from_last = strips_of(blocks) - strip;
  if (blocks % 3 == 1 && blocks > 1 && from_last <= 2) return {blocks - 2 * from_last, 2};
  return {3 * strip, std::min<std::int64_t>(3, blocks - 3 * strip)};
}
// The strip that block `block` is in.
inline Strip strip_of(std::int64_t block, std::int64_t blocks) {
  const bool is_of_four = blocks % 3 == 1 && blocks > 1 && block >= blocks - 4;
  return strip_at(is_of_four ? strips_of(blocks) - 1 - (blocks - 1 - block) / 2 : block / 3,
                  blocks);
}

// kTiles rows times kVecs blocks of results, kept in registers over all channels: what is stored
// does not depend on how tiles were grouped.
// `a`: the first of the tiles in channel block 0, blocks lie `a_block` apart. `weights`: [channels]
// [kVecs][kLanes]. `to`: the first tile of the first block of results, blocks lie `to_block` apart.
template <int kTiles, int kVecs>
[[gnu::noinline]] void multiply_tiles(const float* a, std::int64_t a_block, std::int64_t blocks,
                                      const float* weights, float* to, std::int64_t to_block) {
  Vec sum[kTiles][kVecs] = {};
  for (std::int64_t block = 0; block < blocks; ++block, a += a_block)
#pragma GCC unroll 16
    for (int c = 0; c < kLanes; ++c, weights += kLanes * kVecs) {
      Vec w[kVecs];
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) w[v] = load(weights + kLanes * v);
#pragma GCC unroll 16
      for (int t = 0; t < kTiles; ++t) {
        const Vec x = splat(a + kLanes * t + c);
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) sum[t][v] = fma(x, w[v], sum[t][v]);
      }
    }
#pragma GCC unroll 3
  for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 16
    for (int t = 0; t < kTiles; ++t) store(to + v * to_block + kLanes * t, sum[t][v]);
}

// kRows channels of one side times kVecs blocks of the other, summed over tiles, into or onto `to`:
// row i of block v at to + v * to_block + kLanes * i. `a`: those channels of the first tile; `b`:
// the first block of the other side, blocks lie `b_block` apart. kPaired: what stands for a float
// is a pair of bf16.
template <int kRows, int kVecs, bool kPaired>
[[gnu::noinline]] void multiply_channels(const float* a, const float* b, std::int64_t b_block,
                                         std::int64_t tiles, bool is_first, float* to,
                                         std::int64_t to_block) {
  Vec sum[kRows][kVecs] = {};
  for (std::int64_t t = 0; t < tiles; ++t, a += kLanes, b += kLanes) {
    Vec y[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) y[v] = load(b + v * b_block);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vec x = splat(a + i);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v)
        sum[i][v] = kPaired ? fma_pairs(x, y[v], sum[i][v]) : fma(x, y[v], sum[i][v]);
    }
  }
#pragma GCC unroll 3
  for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      float* cell = to + v * to_block + kLanes * i;
      store(cell, is_first ? sum[i][v] : add(load(cell), sum[i][v]));
    }
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
