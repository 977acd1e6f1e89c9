// Training steps of several ranks on demand, so that a script can let programs take turns.
//   cmake --build build --target rank_steps plimsoll_mpi
//   mpirun -n 2 build/rank_steps FOLDER MODEL BATCH IMAGE THREADS
// mpirun gives its input to rank 0 alone, so each rank has pipes of its own in FOLDER: rank 1 reads
// in1 and writes out1. It writes "ready" after a first step; then, for every line it reads, does a
// step and writes its seconds; at the end of its input, its peak bytes. bench/compare calls it.
#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/memory_usage.h"
#include "base/stopwatch.h"
#include "bench/planned_trainer.h"
#include "dist/mpi_transport.h"

int main(int count, char** words) {
  using namespace plimsoll;
  if (count != 6) {
    fmt::print(stderr, "rank_steps FOLDER MODEL BATCH IMAGE THREADS\n");
    return 2;
  }
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe");
  dist::Group group(
      [&] { return dist::make_mpi_transport(beside.parent_path() / "libplimsoll_mpi.so"); },
      "here");
  const int threads = std::atoi(words[5]);
  omp_set_num_threads(threads);
  const zoo::Network& network = zoo::find_network(words[2]);
  PlannedTrainer trainer(network, input_of(network, std::atoll(words[3]), std::atoll(words[4])),
                         threads, kUnlimited.count, {}, &group);
  std::int64_t step = 0;
  trainer.train(step++);
  const std::filesystem::path folder = words[1];
  std::ifstream in(folder / fmt::format("in{}", group.rank()));
  std::ofstream out(folder / fmt::format("out{}", group.rank()));
  out << "ready\n" << std::flush;
  for (std::string line; std::getline(in, line);) {
    const Stopwatch watch;
    trainer.train(step++);
    out << fmt::format("{:.6f}\n", watch.seconds()) << std::flush;
  }
  out << memory_usage().peak().count << "\n" << std::flush;
  group.close();
  return 0;
}
