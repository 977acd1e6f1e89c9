// The vocabulary of all vector code: what a kernel says about the lanes of one block of channels.
// A kernel is written once in these words and compiled once for each variant of them, in a
// namespace of the variant's name, which nothing but dispatch.cpp tells apart:
//   avx2    8 lanes, one register (eight.h)
//   avx512  16 lanes, one register (sixteen.h); two where the compiler cannot keep them apart
//   paired  16 lanes, two registers of AVX2 (two_eights.h)
// Code of a variant defines nothing outside its namespace: the linker keeps one of several equal
// inline functions, and it could be one that the processor cannot run.
#pragma once

#if defined(PLIMSOLL_AVX512) && (defined(__AVX512F__) || defined(SIMDE_ENABLE_NATIVE_ALIASES))
#include "kernels/simd/sixteen.h"
#define PLIMSOLL_VARIANT avx512
#define PLIMSOLL_WORDS sixteen
#elif defined(PLIMSOLL_AVX512) || defined(PLIMSOLL_PAIRED)
#include "kernels/simd/two_eights.h"
#define PLIMSOLL_WORDS two_eights
#ifdef PLIMSOLL_AVX512
#define PLIMSOLL_VARIANT avx512
#else
#define PLIMSOLL_VARIANT paired
#endif
#else
#include "kernels/simd/eight.h"
#define PLIMSOLL_VARIANT avx2
#define PLIMSOLL_WORDS eight
#endif

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

using PLIMSOLL_WORDS::kLanes;
using PLIMSOLL_WORDS::kSumRows;
using PLIMSOLL_WORDS::Vec;

constexpr std::int64_t blocks_of(std::int64_t channels) { return (channels + kLanes - 1) / kLanes; }

// Of floats, or of elements that are stored in 16 bits: exact, and rounded to nearest even with NaN
// kept.
using PLIMSOLL_WORDS::load;
using PLIMSOLL_WORDS::store;
// The upper half of a lane is the nearest bf16, ties to even, NaN kept; the lower half means
// nothing.
using PLIMSOLL_WORDS::near_bf16;
// Of the first `lanes` floats at p, zero beyond; touches nothing further.
using PLIMSOLL_WORDS::load_part;
using PLIMSOLL_WORDS::store_part;
// Past the caches; `p` is aligned to what the lanes take. What was streamed has arrived behind the
// fence.
using PLIMSOLL_WORDS::stream;
using PLIMSOLL_WORDS::stream_fence;
// Halves, rounded to nearest.
using PLIMSOLL_WORDS::load_halves;
using PLIMSOLL_WORDS::stream_halves;

using PLIMSOLL_WORDS::first_lane;
using PLIMSOLL_WORDS::splat;
using PLIMSOLL_WORDS::zero;

using PLIMSOLL_WORDS::add;
using PLIMSOLL_WORDS::div;
using PLIMSOLL_WORDS::mul;
using PLIMSOLL_WORDS::sqrt;
using PLIMSOLL_WORDS::sub;
using PLIMSOLL_WORDS::to_whole;  // to the nearest, ties to even
// a * b + c and c - a * b, rounded once.
using PLIMSOLL_WORDS::fma;
using PLIMSOLL_WORDS::fnma;
// Lanes are pairs of bf16: the products of both halves, added to c (sixteen.h: only where the
// processor has avx512_bf16).
using PLIMSOLL_WORDS::fma_pairs;
// b where either is NaN.
using PLIMSOLL_WORDS::max;
using PLIMSOLL_WORDS::min;

// Masks: all bits of a lane, or none.
using PLIMSOLL_WORDS::all_lanes;
using PLIMSOLL_WORDS::equal;
using PLIMSOLL_WORDS::greater;
using PLIMSOLL_WORDS::lane_mask;  // of the first `lanes` lanes
using PLIMSOLL_WORDS::lanes_of;   // of those whose bit is set in an integer
using PLIMSOLL_WORDS::less;
using PLIMSOLL_WORDS::select;  // (mask, yes, no)

// Bit by bit. unless(mask, v) is v where the mask has none.
using PLIMSOLL_WORDS::both;
using PLIMSOLL_WORDS::differing;
using PLIMSOLL_WORDS::either;
using PLIMSOLL_WORDS::unless;

// A sum for every lane in f64: adding f32 partial sums to it loses nothing that matters.
using PLIMSOLL_WORDS::LaneSums;

// A block of kLanes x kLanes; (from, from_row, to, to_row), rows lie so many elements apart.
using PLIMSOLL_WORDS::transpose_block;

// 32-bit integers beside the floats, and the same bits under the other type.
using PLIMSOLL_WORDS::bits_of;
using PLIMSOLL_WORDS::floats_of;
using PLIMSOLL_WORDS::IntVec;
using PLIMSOLL_WORDS::shift_left;
using PLIMSOLL_WORDS::shift_right;  // zeros come in from above
using PLIMSOLL_WORDS::splat_ints;
using PLIMSOLL_WORDS::whole_ints;  // of floats, to the nearest
// As bytes; integers in [0, 255].
using PLIMSOLL_WORDS::load_bytes;
using PLIMSOLL_WORDS::store_bytes;

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
