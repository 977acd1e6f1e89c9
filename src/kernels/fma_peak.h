// The physical limit a benchmark is read against.
#pragma once

#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll::kernels {

// Billions of f32 operations per second that all threads of the OpenMP team reach together in a
// loop of nothing but fused multiply-adds of `lanes` lanes; the best of a few short runs, about 0.3
// s in all.
double measure_fma_peak_gflops(std::int64_t lanes = kNarrowLanes);

// The same of products of bf16 that are added up in f32, on a processor that has those
// (avx512_bf16).
double measure_bf16_peak_gflops();

// Whichever of the two limits a network of images in blocks of `lanes` channels.
inline double measure_peak_gflops(std::int64_t lanes, bool multiplies_short) {
  return multiplies_short ? measure_bf16_peak_gflops() : measure_fma_peak_gflops(lanes);
}

}  // namespace plimsoll::kernels
