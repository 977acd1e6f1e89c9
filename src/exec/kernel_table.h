// Which kernel serves which call, by measurement: what `bench --tune` writes and `--kernels` reads.
// A table and never a clock: the same table gives the same kernels, and so the same bits, scratch
// and floors.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "tensor/kernel.h"

namespace plimsoll {

class KernelTable {
 public:
  // Lines "ISA THREADS KERNEL CALL" behind a first one that says what the file is. DataError names
  // `source` and the line. A kernel that does not exist, or that does not take its call, is passed
  // over when kernels are chosen.
  static KernelTable parse(std::string_view text, const std::string& source);
  std::string text() const;

  // The kernel for this call with any number of images; empty: by the op's own order.
  std::string_view find(const Graph& graph, const Node& node, const Environment& environment) const;
  void set(const Graph& graph, const Node& node, const Environment& environment,
           std::string_view kernel);
  std::size_t size() const { return kernels_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> kernels_;  // by "ISA THREADS CALL"
};

}  // namespace plimsoll
