// Planes of a blocked tensor: the cells of one image in one block of 8 channels.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "tensor/view.h"

namespace plimsoll::kernels {

// Where block `block` of image `n` begins; its H x W cells of 8 lanes follow each other.
template <class T>
T* plane(const TensorView& view, std::int64_t n, std::int64_t block) {
  return view.image<T>(n) + block * view.spec.shape[2] * view.spec.shape[3] * kLanes;
}

// All ones in the lanes of block `block` that are channels, zeros in those that only pad it.
inline __m256i channel_lanes(std::int64_t channels, std::int64_t block) {
  const auto used = static_cast<int>(std::min(kLanes, channels - block * kLanes));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(used), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline __m256 load_cell(const float* cells, std::int64_t i) {
  return _mm256_loadu_ps(cells + i * kLanes);
}
inline void store_cell(float* cells, std::int64_t i, __m256 value) {
  _mm256_storeu_ps(cells + i * kLanes, value);
}

}  // namespace plimsoll::kernels
