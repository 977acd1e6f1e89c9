// Any text read as a graph: a UsageError, or a graph whose printed form parses to itself.
#include "ops/table.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string printed;
  try {
    printed = plimsoll::to_text(plimsoll::parse_graph(text, plimsoll::op_table(), "fuzz"));
  } catch (const plimsoll::UsageError&) {
    return 0;
  }
  const plimsoll::Graph copy = plimsoll::parse_graph(printed, plimsoll::op_table(), "printed");
  plimsoll::expect(plimsoll::to_text(copy) == printed, "a printed graph parses back to itself");
  return 0;
}
