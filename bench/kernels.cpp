// Every kernel that takes a convolution of a network's training step, side by side.
//   cmake --build build --target kernels
//   build/kernels MODEL BATCH IMAGE THREADS [ROUNDS [WORD [ISA]]]
// A row for each different call: how often a step makes it, direct-convolution GFLOP/s of each
// kernel (medians of interleaved rounds), and what the first in the op's list gains over the
// others' best. "total" adds up what a step takes with the first, and with the best of each row.
// WORD: only calls whose row has it. ISA: as --isa.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "exec/jobs.h"
#include "exec/kernel_contest.h"
#include "machine/instructions.h"
#include "ops/table.h"
#include "step/trainer.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

struct Totals {
  double first = 0, best = 0;
};

void compare(const Graph& graph, const Node& node, int times, int rounds, const std::string& word,
             Totals& totals) {
  const std::string name =
      fmt::format("{:<19} {:<26} {:<26}", node.op->name, to_string(graph.spec(node.in[0])),
                  to_string(graph.spec(node.in[1])));
  if (name.find(word) == std::string::npos) return;
  const std::vector<KernelTime> times_of = hold_contest(graph, node, this_process(), rounds);
  const double flops = cost_of(graph, node).flops;
  std::string row = fmt::format("{} {:2}x", name, times);
  double others = 0;
  for (const KernelTime& time : times_of) {
    row += fmt::format("  {:>8} {:6.1f}", time.kernel->name, flops / time.seconds * 1e-9);
    if (&time != &times_of[0]) others = others == 0 ? time.seconds : std::min(others, time.seconds);
  }
  const double first = times_of[0].seconds;
  if (others > 0) row += fmt::format("  {:5.2f}x", others / first);
  fmt::print("{}\n", row);
  totals.first += times * first;
  totals.best += times * (others > 0 ? std::min(others, first) : first);
}

}  // namespace
}  // namespace plimsoll

int main(int count, char** words) {
  using namespace plimsoll;
  if (count < 5) {
    fmt::print(stderr, "kernels MODEL BATCH IMAGE THREADS [ROUNDS [WORD [ISA]]]\n");
    return 2;
  }
  omp_set_num_threads(std::atoi(words[4]));
  use_isa(count > 7 ? words[7] : "");
  const int rounds = count > 5 ? std::atoi(words[5]) : 5;
  const zoo::Network& network = zoo::find_network(words[1]);
  const std::int64_t batch = std::atoll(words[2]);
  const Trainer trainer(
      op_table(),
      [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
      {.input = {.batch = batch,
                 .channels = network.channels,
                 .image = std::atoll(words[3]),
                 .lanes = lanes_of(this_process().isa)},
       .train_batches = {batch},
       .evaluate_batches = {},
       .optimizer = {}});
  const Graph& graph = trainer.tapes().graph(0);
  std::map<std::string, std::pair<const Node*, int>> calls;
  for (const Node& node : graph.nodes()) {
    if (node.op->arithmetic == Arithmetic::none || node.op->kernels.size() < 3) continue;
    std::string key = node.op->name;
    for (const auto& [name, value] : node.attrs.entries()) key += name + to_string(value);
    for (ValueId id : node.in) key += to_string(graph.spec(id));
    auto& call = calls[key];
    call.first = &node;
    ++call.second;
  }
  Totals totals;
  for (const auto& [key, call] : calls)
    compare(graph, *call.first, call.second, rounds, count > 6 ? words[6] : "", totals);
  fmt::print("total {:.1f} ms an image with the first, {:.1f} with the best of each\n",
             1e3 * totals.first / static_cast<double>(batch),
             1e3 * totals.best / static_cast<double>(batch));
  return 0;
}
