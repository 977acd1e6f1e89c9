// How fast all threads of the team together go round a loop of one instruction.
#pragma once

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace plimsoll::kernels {

constexpr int kPeakChains = 12;  // enough independent sums to hide the latency of two units
constexpr std::int64_t kPeakRounds = 4'000'000;

// Billions of operations per second where spin(seed) does kPeakRounds times kPeakChains times
// `operations` of them; the best of many short runs, since a scheduler may need a while to give
// every thread a core of its own.
template <class Spin>
static double best_of_spins(double operations, Spin spin) {
  double best = 0;
  float sink = 0;
  for (int run = 0; run < 30; ++run) {
    int threads = 1;
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : sink)
    {
#pragma omp single
      threads = omp_get_num_threads();
      sink += spin(static_cast<float>(omp_get_thread_num()));
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double count = operations * kPeakChains * static_cast<double>(kPeakRounds) * threads;
    best = std::max(best, count / seconds * 1e-9);
  }
  // Never true; keeps the loops from being left out.
  return sink == 0.123456F ? 0 : best;
}

}  // namespace plimsoll::kernels
