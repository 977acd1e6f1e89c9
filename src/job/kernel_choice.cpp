#include "job/kernel_choice.h"

#include <set>

#include "base/bytes.h"
#include "base/files.h"
#include "exec/call_text.h"

namespace plimsoll::job {

KernelChoice choose_kernels(const std::string& file) {
  if (file.empty()) return {};
  return {.table = std::make_shared<const KernelTable>(
              KernelTable::parse(read_file(file, 16_MiB), file))};
}

KernelTable tune_kernels(const Trainer& trainer, int rounds, const OnContest& tell) {
  constexpr double kLead = 0.97;
  const Environment environment = this_process();
  const Graph& graph = trainer.tapes().graph(0);
  KernelTable table;
  std::set<std::string> held;
  for (const Node& node : graph.nodes()) {
    if (node.op->kernels.size() < 3 || !held.insert(call_text(graph, node, ImageCount::any)).second)
      continue;
    const std::vector<KernelTime> times = hold_contest(graph, node, environment, rounds);
    if (times.size() < 2) continue;
    const KernelTime* best = &times.front();
    for (const KernelTime& time : times)
      if (time.seconds < kLead * best->seconds) best = &time;
    table.set(graph, node, environment, best->kernel->name);
    if (tell) tell(node, times, *best);
  }
  return table;
}

}  // namespace plimsoll::job
