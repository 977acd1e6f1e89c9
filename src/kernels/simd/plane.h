// Planes of a blocked tensor: the cells of one image in one block of channels.
#pragma once

#include <cstdint>

#include "kernels/simd/vec.h"
#include "tensor/view.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Where block `block` of image `n` begins; its H x W cells of kLanes lanes follow each other.
template <class T>
T* plane(const TensorView& view, std::int64_t n, std::int64_t block) {
  return view.image<T>(n) + block * view.spec.shape[2] * view.spec.shape[3] * kLanes;
}

// All ones in the lanes of block `block` that are channels, zeros in those that only pad it.
inline Vec channel_mask(std::int64_t channels, std::int64_t block) {
  return lane_mask(channels - block * kLanes);
}

template <class T>
Vec load_cell(const T* cells, std::int64_t i) {
  return load(cells + i * kLanes);
}
template <class T>
void store_cell(T* cells, std::int64_t i, Vec value) {
  store(cells + i * kLanes, value);
}

// Calls body.template operator()<T>() with the type of the elements of an image tensor, f32 or
// bf16.
template <class Body>
void with_element(const TensorView& image, Body body) {
  if (image.spec.dtype == DType::bf16)
    body.template operator()<Bf16>();
  else
    body.template operator()<float>();
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
