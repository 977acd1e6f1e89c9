#include "exec/kernel_times.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/files.h"
#include "base/random.h"
#include "exec/call_text.h"

namespace plimsoll {
namespace {

std::filesystem::path file_of(const std::filesystem::path& directory, int threads) {
  return directory / fmt::format("kernel-times-{:016x}-{}.txt", fnv1a64(cpu_model()), threads);
}

}  // namespace

std::uint64_t KernelTimes::key(const Graph& graph, std::size_t index,
                               std::string_view kernel) const {
  const Node& node = graph.nodes()[index];
  std::string text =
      fmt::format("{} {} {}", threads_, kernel, call_text(graph, node, ImageCount::counted));
  for (const Values& ids : {node.in, node.out})
    for (ValueId id : ids) text += graph.value(id).home ? '/' : '-';
  return fnv1a64(text);
}

std::optional<double> KernelTimes::find(const Graph& graph, std::size_t node,
                                        std::string_view kernel) const {
  if (seconds_.empty()) return std::nullopt;
  const auto found = seconds_.find(key(graph, node, kernel));
  if (found == seconds_.end()) return std::nullopt;
  return found->second;
}

void KernelTimes::record(const Graph& graph, std::size_t node, std::string_view kernel,
                         double seconds) {
  const auto [found, is_new] = seconds_.try_emplace(key(graph, node, kernel), seconds);
  if (!is_new) found->second = std::min(found->second, seconds);
}

KernelTimes KernelTimes::load(const std::filesystem::path& directory, int threads) {
  KernelTimes times(threads);
  if (directory.empty()) return times;
  try {
    std::istringstream lines(read_file(file_of(directory, threads), 16_MiB));
    std::uint64_t key = 0;
    double seconds = 0;
    while (lines >> key >> seconds)
      if (std::isfinite(seconds) && seconds >= 0 && seconds < 1e6) times.seconds_[key] = seconds;
  } catch (const std::exception&) {
    // None, or one that cannot be read: the rule prices everything.
    times.seconds_.clear();
  }
  return times;
}

void KernelTimes::save(const std::filesystem::path& directory) const {
  std::string text;
  for (const auto& [key, seconds] : seconds_) text += fmt::format("{} {:.9g}\n", key, seconds);
  make_directories(directory);
  write_file(file_of(directory, threads_), text);
}

}  // namespace plimsoll
