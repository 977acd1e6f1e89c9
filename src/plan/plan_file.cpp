#include "plan/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHead = "plimsoll plan 1";

// The parts of `text` between separators, empty ones left out.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts = split(text, separator);
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  return parts;
}

std::string graph_line(const Graph& graph) {
  return fmt::format("graph {:016x} of {} nodes and {} values", fnv1a64(to_text(graph)),
                     graph.nodes().size(), graph.values().size());
}

// Reads the words of one line, in order.
class Line {
 public:
  Line(std::string_view text, std::string_view source, std::size_t number)
      : words_(parts_of(text, ' ')), source_(source), number_(number) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    throw DataError({.where = fmt::format("{}:{}", source_, number_),
                     .got = next_ < words_.size() ? fmt::format("'{}'", words_[next_])
                                                  : std::string("the end of the line"),
                     .expected = "expected " + expected,
                     .hint = "a plan is written by `plimsoll plan --save FILE`"});
  }
  std::string_view word(const std::string& expected) {
    if (next_ >= words_.size()) refuse(expected);
    return words_[next_++];
  }
  void keyword(std::string_view wanted) {
    if (next_ >= words_.size() || words_[next_] != wanted) refuse(fmt::format("'{}'", wanted));
    ++next_;
  }
  std::int64_t number(std::int64_t most) {
    const auto value = parse_integer(at_end() ? std::string_view() : words_[next_]);
    if (!value || *value < 0 || *value > most) refuse(fmt::format("a number from 0 to {}", most));
    ++next_;
    return *value;
  }
  std::vector<std::int64_t> numbers(std::string_view key, std::size_t count, std::int64_t most) {
    keyword(key);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(number(most));
    return values;
  }
  ValueId value(const Graph& graph) {
    const ValueId id = next_ < words_.size() ? graph.find(words_[next_]) : kNoValue;
    if (!id) refuse("the name of a value of this graph");
    ++next_;
    return id;
  }
  bool at_end() const { return next_ == words_.size(); }
  void end() const {
    if (!at_end()) refuse("the end of the line");
  }

 private:
  std::vector<std::string_view> words_;
  std::string_view source_;
  std::size_t number_;
  std::size_t next_ = 0;
};

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

void parse_run(Line& line, bool again, const Graph& graph, Tape& tape) {
  const std::int64_t index = line.number(static_cast<std::int64_t>(graph.nodes().size()) - 1);
  const Node& node = graph.nodes()[static_cast<std::size_t>(index)];
  line.keyword(node.op->name);
  line.keyword(node.name);
  tape.instructions.push_back(
      {.kind = StepKind::run,
       .again = again,
       .node = NodeId{static_cast<std::int32_t>(index)},
       .in = line.numbers("in", node.in.size(), kMostBytes),
       .out = line.numbers("out", node.out.size(), kMostBytes),
       .scratch = line.numbers("scratch", 1, kMostBytes)[0],
       .packed = line.at_end() ? -1 : line.numbers("packed", 1, kMostBytes)[0]});
}

void parse_conversion(Line& line, StepKind kind, const Graph& graph, Tape& tape) {
  tape.instructions.push_back({.kind = kind,
                               .again = kind == StepKind::unpack,
                               .value = line.value(graph),
                               .in = line.numbers("in", 1, kMostBytes),
                               .out = line.numbers("out", 1, kMostBytes),
                               .scratch = line.numbers("scratch", 1, kMostBytes)[0]});
}

void parse_transfer(Line& line, bool store, const Graph& graph, Tape& tape) {
  constexpr std::int64_t kMostSteps = 1 << 30;
  Transfer transfer{.store = store, .value = line.value(graph)};
  transfer.offset = line.numbers("at", 1, kMostBytes)[0];
  transfer.bytes = line.numbers("bytes", 1, kMostBytes)[0];
  transfer.file_offset = line.numbers("file", 1, kMostBytes)[0];
  transfer.begin = static_cast<std::int32_t>(line.numbers("after", 1, kMostSteps)[0]);
  transfer.end = static_cast<std::int32_t>(line.numbers("before", 1, kMostSteps)[0]);
  tape.transfers.push_back(transfer);
}

void parse_exchange(Line& line, const Graph& graph, Tape& tape) {
  constexpr std::int64_t kMostSteps = 1 << 30;
  const std::int64_t index = line.number(static_cast<std::int64_t>(graph.nodes().size()) - 1);
  const Node& node = graph.nodes()[static_cast<std::size_t>(index)];
  line.keyword(node.op->name);
  line.keyword(node.name);
  Exchange exchange{.node = NodeId{static_cast<std::int32_t>(index)},
                    .segments = {},
                    .gathers = node.op->gathered};
  const std::vector<std::int64_t> offsets = line.numbers("at", node.in.size(), kMostBytes);
  const std::vector<std::int64_t> bytes = line.numbers("bytes", node.in.size(), kMostBytes);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    exchange.segments.push_back({offsets[i], bytes[i]});
  exchange.begin = static_cast<std::int32_t>(line.numbers("after", 1, kMostSteps)[0]);
  exchange.end = static_cast<std::int32_t>(line.numbers("before", 1, kMostSteps)[0]);
  tape.exchanges.push_back(std::move(exchange));
}

std::string exchange_line(const Exchange& exchange, const Graph& graph) {
  const Node& node = graph.node(exchange.node);
  std::string offsets;
  std::string bytes;
  for (const Exchange::Segment& segment : exchange.segments) {
    offsets += fmt::format(" {}", segment.offset);
    bytes += fmt::format(" {}", segment.bytes);
  }
  return fmt::format("exchange {} {} {} at{} bytes{} after {} before {}\n", exchange.node.at(),
                     node.op->name, node.name, offsets, bytes, exchange.begin, exchange.end);
}

}  // namespace

std::string plan_text(const Tape& tape, const Graph& graph) {
  std::string text = fmt::format("{}\n{}\narena {} spill {}\n", kHead, graph_line(graph),
                                 tape.arena_bytes, tape.spill_bytes);
  for (const PlacedValue& placed : tape.inputs)
    text += fmt::format("input {} at {}\n", graph.value(placed.value).name, placed.offset);
  for (const Instruction& i : tape.instructions) {
    if (i.kind == StepKind::run) {
      const Node& node = graph.node(i.node);
      text += fmt::format("{} {} {} {}", i.again ? "again" : "run", i.node.at(), node.op->name,
                          node.name);
    } else {
      text += fmt::format("{} {}", i.kind == StepKind::pack ? "pack" : "unpack",
                          graph.value(i.value).name);
    }
    text += fmt::format(" in {} out {} scratch {}", fmt::join(i.in, " "), fmt::join(i.out, " "),
                        i.scratch);
    if (i.packed >= 0) text += fmt::format(" packed {}", i.packed);
    text += '\n';
  }
  for (const Transfer& t : tape.transfers)
    text +=
        fmt::format("{} {} at {} bytes {} file {} after {} before {}\n", t.store ? "store" : "load",
                    graph.value(t.value).name, t.offset, t.bytes, t.file_offset, t.begin, t.end);
  for (const Exchange& exchange : tape.exchanges) text += exchange_line(exchange, graph);
  for (const PlacedValue& placed : tape.results)
    text += fmt::format("result {} at {}\n", graph.value(placed.value).name, placed.offset);
  return text + fmt::format("end {:016x}\n", fnv1a64(text));
}

Tape parse_plan(std::string_view text, const Graph& graph, std::string_view source) {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw DataError({.where = std::string(source),
                     .got = got,
                     .expected = expected,
                     .hint = "a plan is written by `plimsoll plan --save FILE`"});
  };
  if (text.substr(0, kHead.size()) != kHead)
    refuse("it does not begin with '" + std::string(kHead) + "'", "expected a saved plan");
  const std::size_t end = std::min(text.rfind("end "), text.size());
  if (text.substr(end) != fmt::format("end {:016x}\n", fnv1a64(text.substr(0, end))))
    refuse("its checksum is wrong", "expected a plan that nothing was changed in");
  const std::vector<std::string_view> lines = parts_of(text.substr(0, end), '\n');
  if (lines.size() < 3 || lines[1] != graph_line(graph))
    refuse(lines.size() < 3 ? "it is too short" : fmt::format("it is for {}", lines[1]),
           fmt::format("expected one for {}", graph_line(graph)));
  Tape tape;
  for (std::size_t l = 2; l < lines.size(); ++l) {
    Line line(lines[l], source, l + 1);
    const std::string_view word = line.word("an instruction");
    if (word == "arena") {
      tape.arena_bytes = line.number(kMostBytes);
      tape.spill_bytes = line.numbers("spill", 1, kMostBytes)[0];
    } else if (word == "input" || word == "result") {
      const ValueId id = line.value(graph);
      (word == "input" ? tape.inputs : tape.results)
          .push_back({id, line.numbers("at", 1, kMostBytes)[0]});
    } else if (word == "run" || word == "again") {
      parse_run(line, word == "again", graph, tape);
    } else if (word == "pack" || word == "unpack") {
      parse_conversion(line, word == "pack" ? StepKind::pack : StepKind::unpack, graph, tape);
    } else if (word == "store" || word == "load") {
      parse_transfer(line, word == "store", graph, tape);
    } else if (word == "exchange") {
      parse_exchange(line, graph, tape);
    } else {
      Line(lines[l], source, l + 1)
          .refuse("arena, input, run, again, pack, unpack, store, load, exchange or result");
    }
    line.end();
  }
  return tape;
}

}  // namespace plimsoll
