// How long kernels take on this machine. Times price recomputation; they choose no kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace plimsoll {

// Seconds by what a node computes and by which kernel: op, attributes, shapes, number of threads.
// Kept as text,
// "<key> <seconds>" per line.
class KernelTimes {
 public:
  explicit KernelTimes(int threads) : threads_(threads) {}
  // From the file of this kind of machine and thread count; empty where there is none or it is
  // damaged.
  static KernelTimes load(const std::filesystem::path& directory, int threads);

  std::optional<double> find(const Graph& graph, std::size_t node, std::string_view kernel) const;
  // The smallest of what is recorded for one key counts.
  void record(const Graph& graph, std::size_t node, std::string_view kernel, double seconds);
  std::size_t size() const { return seconds_.size(); }
  // DataError if it cannot be written.
  void save(const std::filesystem::path& directory) const;

 private:
  std::uint64_t key(const Graph& graph, std::size_t node, std::string_view kernel) const;

  int threads_;
  std::map<std::uint64_t, double> seconds_;
};

}  // namespace plimsoll
