// Training steps on demand, so that a script can let programs take turns step by step.
//   cmake --build build --target steps
//   build/steps MODEL BATCH IMAGE THREADS
// Prints "ready" after a first step; then, for every line it reads, does a step and prints its
// seconds. bench/compare calls it.
#include <fmt/format.h>
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/stopwatch.h"
#include "bench/planned_trainer.h"

int main(int count, char** words) {
  using namespace plimsoll;
  if (count != 5) {
    fmt::print(stderr, "steps MODEL BATCH IMAGE THREADS\n");
    return 2;
  }
  const int threads = std::atoi(words[4]);
  omp_set_num_threads(threads);
  PlannedTrainer trainer(zoo::find_network(words[1]), std::atoll(words[2]), std::atoll(words[3]),
                         threads, kUnlimited.count, {});
  std::int64_t step = 0;
  trainer.train(step++);
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const Stopwatch watch;
    trainer.train(step++);
    fmt::print("{:.6f}\n", watch.seconds());
    std::fflush(stdout);
  }
  return 0;
}
