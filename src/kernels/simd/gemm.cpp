#include "kernels/gemm.h"

#include <omp.h>

#include <algorithm>

#include "kernels/simd/vec.h"
#include "tensor/spec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// The micro-kernel keeps a tile of C in three quarters of the registers.
constexpr std::int64_t kTileM = kSumRows;
constexpr std::int64_t kTileN = 2 * kLanes;
// A task multiplies panels of these sizes: A (96 KiB) and B (at most 256 KiB) stay in a 512 KiB L2
// cache.
constexpr std::int64_t kBlockM = 96;
constexpr std::int64_t kBlockN = 256;
constexpr std::int64_t kBlockK = 256;

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

// Rows [0, m) x columns [0, k) of `a` as tiles of kTileM rows, each [k][kTileM], short ones
// filled up with zeros.
void pack_a(const MatrixView& a, std::int64_t m, std::int64_t k, float* to) {
  for (std::int64_t i = 0; i < m; i += kTileM, to += kTileM * k) {
    const std::int64_t rows = std::min(kTileM, m - i);
    if (rows < kTileM) std::fill_n(to, kTileM * k, 0.0f);
    const float* from = a.data + i * a.row;
    if (a.row == 1) {
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t r = 0; r < rows; ++r) to[p * kTileM + r] = from[p * a.column + r];
    } else {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t p = 0; p < k; ++p) to[p * kTileM + r] = from[r * a.row + p];
    }
  }
}

// Rows [0, k) x columns [0, n) of `b` as tiles of kTileN columns, each [k][kTileN], short ones
// filled up with zeros. Walks along the rows of what lies in memory, which may be far apart.
void pack_b(const MatrixView& b, std::int64_t k, std::int64_t n, float* to) {
  const std::int64_t whole = n / kTileN * kTileN;
  if (b.column == 1) {
    for (std::int64_t p = 0; p < k; ++p) {
      const float* from = b.data + p * b.row;
      for (std::int64_t j = 0; j < whole; j += kTileN) {
        store(to + j * k + p * kTileN, load(from + j));
        store(to + j * k + p * kTileN + kLanes, load(from + j + kLanes));
      }
    }
  } else {
    for (std::int64_t j = 0; j < whole; j += kTileN) {
      float* tile = to + j * k;
      std::int64_t p = 0;
      for (; p + kLanes <= k; p += kLanes)
        for (std::int64_t c = 0; c < kTileN; c += kLanes)
          transpose_block(b.data + (j + c) * b.column + p, b.column, tile + p * kTileN + c, kTileN);
      for (; p < k; ++p)
        for (std::int64_t c = 0; c < kTileN; ++c)
          tile[p * kTileN + c] = b.data[p + (j + c) * b.column];
    }
  }
  if (whole == n) return;
  float* tile = to + whole * k;
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t c = 0; c < kTileN; ++c)
      tile[p * kTileN + c] = c < n - whole ? b.data[p * b.row + (whole + c) * b.column] : 0.0f;
}

// Where a tile's sums go: the first block of k stores them (on top of the bias), the others add.
struct Target {
  float* c;
  std::int64_t row;
  const float* bias;  // null: none
  bool first;
};

void multiply_tile(const float* a, const float* b, std::int64_t k, Target target) {
  Vec sum[kTileM][2];
  for (auto& row : sum) row[0] = row[1] = zero();
  for (std::int64_t p = 0; p < k; ++p, a += kTileM, b += kTileN) {
    const Vec left = load(b), right = load(b + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kTileM; ++r) {
      const Vec value = splat(a + r);
      sum[r][0] = fma(value, left, sum[r][0]);
      sum[r][1] = fma(value, right, sum[r][1]);
    }
  }
  const float* added = target.first ? target.bias : target.c;
  const std::int64_t added_row = target.first ? 0 : target.row;
#pragma GCC unroll 12
  for (int r = 0; r < kTileM; ++r) {
    if (added != nullptr) {
      sum[r][0] = add(load(added + r * added_row), sum[r][0]);
      sum[r][1] = add(load(added + r * added_row + kLanes), sum[r][1]);
    }
    store(target.c + r * target.row, sum[r][0]);
    store(target.c + r * target.row + kLanes, sum[r][1]);
  }
}

// A tile that sticks out of C: computed aside by the same code, so that its numbers are the same.
void multiply_edge(const float* a, const float* b, std::int64_t k, const Target& target,
                   std::int64_t rows, std::int64_t columns) {
  float aside[kTileM * kTileN] = {}, bias[kTileN] = {};
  const bool biased = target.bias != nullptr;
  if (biased) std::copy_n(target.bias, columns, bias);
  for (std::int64_t r = 0; r < rows && !target.first; ++r)
    std::copy_n(target.c + r * target.row, columns, aside + r * kTileN);
  multiply_tile(a, b, k, {aside, kTileN, biased ? bias : nullptr, target.first});
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy_n(aside + r * kTileN, columns, target.c + r * target.row);
}

// Columns that one task works on: two tasks a thread where the matrix allows it; narrower blocks
// pack A too often.
std::int64_t block_n(const GemmShape& s) {
  const std::int64_t wanted = blocks(2 * s.threads, blocks(s.m, kBlockM));
  return std::clamp(round_up(blocks(s.n, wanted), kTileN),
                    std::min<std::int64_t>(64, round_up(s.n, kTileN)), kBlockN);
}

}  // namespace

std::int64_t gemm_scratch(const GemmShape& s) noexcept {
  const std::int64_t k = std::min(s.k, kBlockK), m = round_up(std::min(s.m, kBlockM), kTileM);
  return s.threads * round_up(4 * k * (m + block_n(s)), 64);
}

void run_gemm(const GemmShape& s, const MatrixView& a, const MatrixView& b, const float* bias,
              float* c, std::int64_t c_row, std::byte* scratch) noexcept {
  const std::int64_t width = block_n(s);
  const std::int64_t rows = blocks(s.m, kBlockM), columns = blocks(s.n, width);
  const std::int64_t share = gemm_scratch(s) / s.threads;
#pragma omp parallel for num_threads(s.threads) collapse(2) schedule(dynamic)
  for (std::int64_t column = 0; column < columns; ++column)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t i0 = row * kBlockM, j0 = column * width;
      const std::int64_t m = std::min(kBlockM, s.m - i0), n = std::min(width, s.n - j0);
      auto* packed_b = reinterpret_cast<float*>(scratch + omp_get_thread_num() * share);
      float* packed_a = packed_b + std::min(s.k, kBlockK) * width;
      for (std::int64_t p0 = 0; p0 < s.k; p0 += kBlockK) {
        const std::int64_t k = std::min(kBlockK, s.k - p0);
        pack_a({a.data + i0 * a.row + p0 * a.column, a.row, a.column}, m, k, packed_a);
        pack_b({b.data + p0 * b.row + j0 * b.column, b.row, b.column}, k, n, packed_b);
        for (std::int64_t j = 0; j < n; j += kTileN)
          for (std::int64_t i = 0; i < m; i += kTileM) {
            const Target target = {c + (i0 + i) * c_row + j0 + j, c_row,
                                   bias != nullptr ? bias + j0 + j : nullptr, p0 == 0};
            const std::int64_t high = std::min(kTileM, m - i), wide = std::min(kTileN, n - j);
            if (high == kTileM && wide == kTileN)
              multiply_tile(packed_a + i * k, packed_b + j * k, k, target);
            else
              multiply_edge(packed_a + i * k, packed_b + j * k, k, target, high, wide);
          }
      }
    }
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
