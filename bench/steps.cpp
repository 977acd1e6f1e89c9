// Training steps on demand, so that a script can let programs take turns step by step.
//   cmake --build build --target steps
//   build/steps MODEL BATCH IMAGE THREADS [f32|bf16 [ISA]]
// Prints "ready" after a first step; then, for every line it reads, does a step and prints its
// seconds; at the end of its input, its peak resident bytes. bench/compare calls it.
#include <fmt/format.h>
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/memory_usage.h"
#include "base/stopwatch.h"
#include "bench/planned_trainer.h"
#include "machine/instructions.h"

int main(int count, char** words) {
  using namespace plimsoll;
  const std::string precision = count > 5 ? words[5] : "f32";
  if (count < 5 || count > 7 || (precision != "f32" && precision != "bf16")) {
    fmt::print(stderr, "steps MODEL BATCH IMAGE THREADS [f32|bf16 [ISA]]\n");
    return 2;
  }
  const int threads = std::atoi(words[4]);
  omp_set_num_threads(threads);
  use_isa(count > 6 ? words[6] : "");
  const zoo::Network& network = zoo::find_network(words[1]);
  PlannedTrainer trainer(network,
                         input_of(network, std::atoll(words[2]), std::atoll(words[3]),
                                  precision == "bf16" ? DType::bf16 : DType::f32),
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
  fmt::print("{}\n", memory_usage().peak().count);
  return 0;
}
