// Products of matrices that lie as tiles do: [blocks of channels][tiles][channels of a block].
#pragma once

#include <cstdint>

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Sums stay in registers because every loop over them is unrolled.

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
