#include "cli/machine_text.h"

#include <fmt/format.h>

namespace plimsoll::cli {

void print_text(const Machine& machine) {
  fmt::print("machine\n");
  fmt::print("  processor    {}; {} usable{}\n", machine.processor, machine.usable,
             machine.quota > 0
                 ? fmt::format(" (affinity {}, quota {:.2g})", machine.cores, machine.quota)
                 : fmt::format(" (affinity {}, no quota)", machine.cores));
  const MemoryLimit tightest = tightest_limit(machine.limits);
  fmt::print("  memory       {} for a run, by {}; the machine has {}\n", to_string(tightest.left),
             tightest.named, to_string(machine.memory));
  for (const MemoryLimit& limit : machine.limits)
    if (limit.named != tightest.named)
      fmt::print("               {} by {}\n", to_string(limit.left), limit.named);
  fmt::print("  swap         {}\n",
             machine.swap == 0_B
                 ? "none"
                 : to_string(machine.swap) + ", " + to_string(machine.swap_free) + " free");
  fmt::print("  disk         {} free at {} ({}), synced writes at {:.0f} MB/s\n",
             to_string(machine.disk_free), machine.out.string(), machine.file_system,
             machine.write_mb_per_second);
  fmt::print("  /dev/shm     {} (not used by runs)\n",
             machine.shm == 0_B ? "none" : to_string(machine.shm));
  fmt::print("  limits       {} open files, {} threads\n", machine.open_files,
             machine.processes == 0 ? "unlimited" : std::to_string(machine.processes));
  fmt::print("  clock        {} UTC\n", machine.time);
}

nlohmann::ordered_json to_json(const Machine& machine) {
  nlohmann::ordered_json limits = nlohmann::ordered_json::array();
  for (const MemoryLimit& limit : machine.limits)
    limits.push_back({{"bytes", limit.left.count}, {"by", limit.named}});
  const MemoryLimit tightest = tightest_limit(machine.limits);
  return {{"processor", machine.processor},
          {"cores", machine.cores},
          {"quota", machine.quota > 0 ? nlohmann::ordered_json(machine.quota) : nullptr},
          {"usable_cores", machine.usable},
          {"cores_now", machine.cores_now},
          {"memory_bytes", machine.memory.count},
          {"budget_bytes", tightest.left.count},
          {"budget_by", tightest.named},
          {"memory_limits", limits},
          {"swap_bytes", machine.swap.count},
          {"swap_free_bytes", machine.swap_free.count},
          {"out", machine.out.string()},
          {"file_system", machine.file_system},
          {"disk_free_bytes", machine.disk_free.count},
          {"disk_write_mb_per_second", machine.write_mb_per_second},
          {"shm_bytes", machine.shm.count},
          {"open_files", machine.open_files},
          {"threads", machine.processes == 0 ? nlohmann::ordered_json(nullptr)
                                             : nlohmann::ordered_json(machine.processes)},
          {"time", machine.time}};
}

}  // namespace plimsoll::cli
