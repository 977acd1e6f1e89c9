#include "exec/kernel_times.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/files.h"
#include "base/random.h"

namespace plimsoll {
namespace {

std::filesystem::path file_of(const std::filesystem::path& directory, int threads) {
  return directory / fmt::format("kernel-times-{:016x}-{}.txt", fnv1a64(cpu_model()), threads);
}

}  // namespace

std::uint64_t KernelTimes::key(const Graph& graph, std::size_t index) const {
  const Node& node = graph.nodes()[index];
  std::string text = fmt::format("{} {}", threads_, node.op->name);
  for (const auto& [name, value] : node.attrs.entries())
    text += " " + name + "=" + to_string(value);
  const auto add = [&](const Values& ids) {
    for (ValueId id : ids)
      text += fmt::format(" {}{}", to_string(graph.spec(id)), graph.value(id).home ? "/" : "");
    text += " ->";
  };
  add(node.in);
  add(node.out);
  return fnv1a64(text);
}

std::optional<double> KernelTimes::find(const Graph& graph, std::size_t node) const {
  if (seconds_.empty()) return std::nullopt;
  const auto found = seconds_.find(key(graph, node));
  if (found == seconds_.end()) return std::nullopt;
  return found->second;
}

void KernelTimes::record(const Graph& graph, std::size_t node, double seconds) {
  const auto [found, is_new] = seconds_.try_emplace(key(graph, node), seconds);
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
