// Transposes of 8x8 blocks.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace plimsoll::kernels {

// Rows lie `from_row` and `to_row` elements apart.
inline void transpose_8x8(const float* from, std::int64_t from_row, float* to,
                          std::int64_t to_row) {
  __m256 row[8], pair[8], quad[8];
  for (int i = 0; i < 8; ++i) row[i] = _mm256_loadu_ps(from + from_row * i);
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + to_row * i, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    _mm256_storeu_ps(to + to_row * (i + 4), _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

// `count` consecutive row-major 8x8 blocks, each transposed: weights 8i8o become 8o8i. Buffers do
// not overlap.
void transpose_blocks(std::int64_t count, const float* from, float* to) noexcept;

}  // namespace plimsoll::kernels
