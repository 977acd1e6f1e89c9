// The physical limit a benchmark is read against.
#pragma once

#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll::kernels {

// Billions of f32 operations per second that all threads of the OpenMP team reach together in a
// loop of nothing but fused multiply-adds of `lanes` lanes; the best of a few short runs, about 0.3
// s in all.
double measure_fma_peak_gflops(std::int64_t lanes = kNarrowLanes);

}  // namespace plimsoll::kernels
