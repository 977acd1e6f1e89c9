// The words of vec.h over sixteen lanes as two registers of AVX2: so that every machine can test
// what is laid out for AVX-512.
#pragma once

#include "kernels/simd/eight.h"

namespace plimsoll::kernels::two_eights {

inline constexpr std::int64_t kLanes = 16;
inline constexpr int kSumRows = 6;

struct Vec {
  eight::Vec low, high;
};
struct IntVec {
  eight::IntVec low, high;
};

template <class T>
Vec load(const T* p) {
  return {eight::load(p), eight::load(p + 8)};
}
template <class T>
void store(T* p, Vec v) {
  eight::store(p, v.low);
  eight::store(p + 8, v.high);
}

template <class T>
Vec splat(T v) {
  return {eight::splat(v), eight::splat(v)};
}
inline Vec zero() { return {eight::zero(), eight::zero()}; }
inline float first_lane(Vec v) { return eight::first_lane(v.low); }
inline Vec all_lanes() { return {eight::all_lanes(), eight::all_lanes()}; }
inline Vec lane_mask(std::int64_t lanes) {
  return {eight::lane_mask(lanes), eight::lane_mask(lanes - 8)};
}
inline Vec lanes_of(std::uint32_t bits) {
  return {eight::lanes_of(bits & 0xFFU), eight::lanes_of(bits >> 8)};
}
inline Vec load_part(const float* p, std::int64_t lanes) {
  return {eight::load_part(p, lanes), eight::load_part(p + 8, lanes - 8)};
}
inline void store_part(float* p, Vec v, std::int64_t lanes) {
  eight::store_part(p, v.low, lanes);
  eight::store_part(p + 8, v.high, lanes - 8);
}

inline Vec mul(Vec a, Vec b) { return {eight::mul(a.low, b.low), eight::mul(a.high, b.high)}; }
inline Vec div(Vec a, Vec b) { return {eight::div(a.low, b.low), eight::div(a.high, b.high)}; }
inline Vec sqrt(Vec v) { return {eight::sqrt(v.low), eight::sqrt(v.high)}; }
inline Vec fma(Vec a, Vec b, Vec c) {
  return {eight::fma(a.low, b.low, c.low), eight::fma(a.high, b.high, c.high)};
}
inline Vec fnma(Vec a, Vec b, Vec c) {
  return {eight::fnma(a.low, b.low, c.low), eight::fnma(a.high, b.high, c.high)};
}
inline Vec fma_pairs(Vec a, Vec b, Vec c) {
  return {eight::fma_pairs(a.low, b.low, c.low), eight::fma_pairs(a.high, b.high, c.high)};
}
inline Vec near_bf16(Vec v) { return {eight::near_bf16(v.low), eight::near_bf16(v.high)}; }
inline Vec to_whole(Vec v) { return {eight::to_whole(v.low), eight::to_whole(v.high)}; }
inline Vec max(Vec a, Vec b) { return {eight::max(a.low, b.low), eight::max(a.high, b.high)}; }
inline Vec min(Vec a, Vec b) { return {eight::min(a.low, b.low), eight::min(a.high, b.high)}; }
inline Vec less(Vec a, Vec b) { return {eight::less(a.low, b.low), eight::less(a.high, b.high)}; }
inline Vec differing(Vec a, Vec b) {
  return {eight::differing(a.low, b.low), eight::differing(a.high, b.high)};
}

// What floats and integers have in common.
template <class V>
V add(V a, V b) {
  return {eight::add(a.low, b.low), eight::add(a.high, b.high)};
}
template <class V>
V sub(V a, V b) {
  return {eight::sub(a.low, b.low), eight::sub(a.high, b.high)};
}
template <class V>
V greater(V a, V b) {
  return {eight::greater(a.low, b.low), eight::greater(a.high, b.high)};
}
template <class V>
V equal(V a, V b) {
  return {eight::equal(a.low, b.low), eight::equal(a.high, b.high)};
}
template <class V>
V both(V a, V b) {
  return {eight::both(a.low, b.low), eight::both(a.high, b.high)};
}
template <class V>
V either(V a, V b) {
  return {eight::either(a.low, b.low), eight::either(a.high, b.high)};
}
template <class V>
V unless(V mask, V v) {
  return {eight::unless(mask.low, v.low), eight::unless(mask.high, v.high)};
}
template <class V>
V select(V mask, V yes, V no) {
  return {eight::select(mask.low, yes.low, no.low), eight::select(mask.high, yes.high, no.high)};
}

struct LaneSums {
  eight::LaneSums low, high;
  void add(Vec v) {
    low.add(v.low);
    high.add(v.high);
  }
  void store(double* p) const {
    low.store(p);
    high.store(p + 8);
  }
  Vec scaled(double factor) const { return {low.scaled(factor), high.scaled(factor)}; }
  Vec rounded() const { return {low.rounded(), high.rounded()}; }
};

template <class T>
void stream(T* p, Vec v) {
  eight::stream(p, v.low);
  eight::stream(p + 8, v.high);
}
using eight::stream_fence;

inline Vec load_halves(const std::byte* p) {
  return {eight::load_halves(p), eight::load_halves(p + 16)};
}
inline void stream_halves(std::byte* p, Vec v) {
  eight::stream_halves(p, v.low);
  eight::stream_halves(p + 16, v.high);
}

inline void transpose_block(const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row) {
  for (std::int64_t i = 0; i < 16; i += 8)
    for (std::int64_t j = 0; j < 16; j += 8)
      eight::transpose_block(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
}

inline IntVec splat_ints(std::int64_t v) { return {eight::splat_ints(v), eight::splat_ints(v)}; }
inline IntVec bits_of(Vec v) { return {eight::bits_of(v.low), eight::bits_of(v.high)}; }
inline Vec floats_of(IntVec v) { return {eight::floats_of(v.low), eight::floats_of(v.high)}; }
inline IntVec whole_ints(Vec v) { return {eight::whole_ints(v.low), eight::whole_ints(v.high)}; }
template <int bits>
IntVec shift_left(IntVec v) {
  return {eight::shift_left<bits>(v.low), eight::shift_left<bits>(v.high)};
}
template <int bits>
IntVec shift_right(IntVec v) {
  return {eight::shift_right<bits>(v.low), eight::shift_right<bits>(v.high)};
}
inline IntVec load_bytes(const std::uint8_t* p) {
  return {eight::load_bytes(p), eight::load_bytes(p + 8)};
}
inline void store_bytes(std::uint8_t* p, IntVec v) {
  eight::store_bytes(p, v.low);
  eight::store_bytes(p + 8, v.high);
}

}  // namespace plimsoll::kernels::two_eights
