#include "plan/replay_form.h"

#include <fmt/format.h>

#include "plan/replay_memory.h"

namespace plimsoll::replay {
namespace {

bool has(const Graph& graph, ValueId id) { return id && id.at() < graph.values().size(); }
bool has(const Graph& graph, NodeId id) { return id && id.at() < graph.nodes().size(); }

bool is_good(const Graph& graph, const Instruction& instruction) {
  if (instruction.kind == StepKind::run) {
    if (!has(graph, instruction.node)) return false;
    const Node& node = graph.node(instruction.node);
    return instruction.in.size() == node.in.size() && instruction.out.size() == node.out.size();
  }
  return has(graph, instruction.value) && instruction.in.size() == 1 &&
         instruction.out.size() == 1 && !graph.value(instruction.value).home;
}

bool is_good(const Graph& graph, const Transfer& transfer) {
  return has(graph, transfer.value) && !graph.value(transfer.value).home &&
         transfer.bytes >= graph.spec(transfer.value).bytes() && transfer.end >= transfer.begin;
}

bool is_good(const Graph& graph, const Exchange& exchange, std::size_t instructions) {
  if (!has(graph, exchange.node)) return false;
  const Node& node = graph.node(exchange.node);
  return node.op->exchanged && exchange.gathers == node.op->gathered &&
         exchange.segments.size() == node.in.size() && exchange.begin >= 1 &&
         exchange.end >= exchange.begin && static_cast<std::size_t>(exchange.end) <= instructions;
}

}  // namespace

void check_form(const Graph& graph, const Tape& tape, std::int64_t resident_bytes) {
  if (tape.arena_bytes < resident_bytes)
    throw Fault{fmt::format("an arena of {} bytes, smaller than the {} of weights and state",
                            tape.arena_bytes, resident_bytes)};
  if (tape.spill_bytes < 0) throw Fault{"a spill file of less than nothing"};
  for (std::size_t i = 0; i < tape.instructions.size(); ++i)
    if (!is_good(graph, tape.instructions[i]))
      throw Fault{fmt::format("instruction {}: not one of this graph", i)};
  for (const auto* list : {&tape.inputs, &tape.results})
    for (const PlacedValue& placed : *list)
      if (!has(graph, placed.value)) throw Fault{"an input or result that the graph does not have"};
  std::int32_t begin = 0;
  for (const Transfer& transfer : tape.transfers) {
    if (!is_good(graph, transfer) || transfer.begin < begin)
      throw Fault{"a transfer that is not one of this graph, or out of order"};
    begin = transfer.begin;
  }
  for (const Exchange& exchange : tape.exchanges)
    if (!is_good(graph, exchange, tape.instructions.size()))
      throw Fault{"an exchange that is not one of this graph"};
}

}  // namespace plimsoll::replay
