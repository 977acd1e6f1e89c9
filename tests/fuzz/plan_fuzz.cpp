// Any text read as a saved plan: a DataError, or a tape that prints as it was read and that the
// checker judges.
#include "plan/plan_file.h"

#include <string>
#include <string_view>

#include "base/error.h"
#include "ops/table.h"
#include "plan/replay.h"
#include "right_checksums.h"

namespace {

// Something of everything a tape refers to: an input, residents and their update in place, a value
// that lies inside another, one whose 16-bit form is written as it is read.
constexpr std::string_view kGraph = R"(plimsoll graph 1
input x : f32[2x8x4x4]/blocked
input rate : f32[1]
input norm : f64[1]
parameter w : f32[8]
optimizer v : f32[8]
y : f32[2x8x4x4]/blocked = activation(x) kind=relu alpha=0.0 @ y
mean : f32[8], variance : f32[8] = bn_stats(y) @ mean
a : f32[2x8x4x4]/blocked in c at 0 = activation(y) kind=tanh alpha=0.0 @ a
b : f32[2x8x4x4]/blocked in c at 8 = activation(y) kind=sigmoid alpha=0.0 @ b
c : f32[2x16x4x4]/blocked = concat(a, b) @ c
w/update : f32[8], w/update:1 : f32[8] = sgd(w, mean, v, rate, norm) momentum=0.9 nesterov=0 weight_decay=0.0 clip_norm=0.0 @ w/update
)";

struct Subject {
  plimsoll::Graph graph = plimsoll::parse_graph(kGraph, plimsoll::op_table(), "graph");
  plimsoll::ReplayRules rules;

  Subject() {
    rules.resident_offset.assign(graph.values().size(), -1);
    const auto reside = [&](std::string_view name, std::int64_t offset) {
      rules.resident_offset[graph.find(name).at()] = offset;
    };
    reside("w", 0);
    reside("w/update", 0);
    reside("v", 64);
    reside("w/update:1", 64);
    rules.resident_bytes = 128;
    rules.scratch.assign(graph.nodes().size(), 0);
    for (const plimsoll::Node& node : graph.nodes())
      rules.packs.push_back(node.op->kernels[0].traits.packs);
    rules.results = {graph.find("c")};
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Subject subject;
  const std::string text = with_right_last_line({reinterpret_cast<const char*>(data), size});
  try {
    const plimsoll::Tape tape = plimsoll::parse_plan(text, subject.graph, "fuzz");
    const std::string printed = plimsoll::plan_text(tape, subject.graph);
    const plimsoll::Tape copy = plimsoll::parse_plan(printed, subject.graph, "printed");
    plimsoll::expect(plimsoll::plan_text(copy, subject.graph) == printed,
                     "a printed plan parses back to itself");
    static_cast<void>(plimsoll::find_fault(subject.graph, tape, subject.rules));
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
