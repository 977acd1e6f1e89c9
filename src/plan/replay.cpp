#include "plan/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plan/replay_form.h"
#include "plan/replay_memory.h"
#include "plan/replay_parts.h"

namespace plimsoll {
namespace replay {
namespace {

class Replay {
 public:
  Replay(const Graph& graph, const Tape& tape, const ReplayRules& rules)
      : graph_(graph),
        tape_(tape),
        rules_(rules),
        arena_(tape.arena_bytes),
        file_(tape.spill_bytes),
        content_(graph.values().size(), kUndefined),
        runs_(graph.nodes().size(), 0) {}

  void run() {
    check_form(graph_, tape_, rules_.resident_bytes);
    parts_.emplace(graph_, tape_);
    fill();
    std::size_t next = 0;
    std::size_t next_exchange = 0;
    for (std::size_t i = 0; i < tape_.instructions.size(); ++i) {
      at_ = i;
      end_transfers(i);
      end_exchanges(i);
      execute(tape_.instructions[i]);
      end_transfers(i + 1);
      next_exchange = begin_exchange(next_exchange);
      for (; next < tape_.transfers.size() &&
             tape_.transfers[next].begin <= static_cast<std::int64_t>(i) + 1;
           ++next)
        begin_transfer(next);
    }
    end_transfers(tape_.instructions.size());
    end_exchanges(tape_.instructions.size());
    if (next_exchange != tape_.exchanges.size()) throw Fault{"an exchange without its node"};
    check_end(next);
  }

 private:
  template <class... Words>
  [[noreturn]] void fail(fmt::format_string<Words...> text, Words&&... words) const {
    throw Fault{fmt::format("instruction {}: ", at_) +
                fmt::format(text, std::forward<Words>(words)...)};
  }
  const std::string& name(ValueId id) const { return graph_.value(id).name; }

  void read(ValueId id, std::int64_t offset, const char* what) const {
    parts_->for_pieces(id, offset, [&](const Range& range, ValueId maker, std::int64_t from) {
      arena_.check_inside(range, what);
      if (content_[maker.at()] == kUndefined) fail("{} '{}' was never made", what, name(maker));
      if (!arena_.holds(range, content_[maker.at()], from))
        fail("{} '{}' does not lie at {}", what, name(id), offset);
    });
  }
  void write(ValueId id, std::int64_t offset) {
    parts_->for_pieces(id, offset, [&](const Range& range, ValueId maker, std::int64_t from) {
      arena_.check_inside(range, "an output");
      arena_.write(range, content_[maker.at()], from);
    });
  }
  Content content_of(ValueId id) const {
    Content content = 1;
    for (const Part& part : parts_->of(id))
      content = mix(mix(content, content_[part.maker_value.at()]),
                    static_cast<Content>(part.first_channel));
    return content;
  }

  void fill() {
    for (std::size_t v = 0; v < content_.size(); ++v) {
      const ValueId id{static_cast<std::int32_t>(v)};
      const Value& value = graph_.value(id);
      if (!is_resident(value.role)) continue;
      content_[v] = mix(2, v);
      const Range range{rules_.resident_offset[v], value.spec.bytes()};
      arena_.check_inside(range, "a resident");
      arena_.write(range, content_[v], 0);
    }
    for (const PlacedValue& placed : tape_.inputs) {
      if (graph_.value(placed.value).role != Role::input)
        throw Fault{fmt::format("'{}' is not an input", name(placed.value))};
      content_[placed.value.at()] = mix(3, placed.value.at());
      if (placed.offset < rules_.resident_bytes)
        throw Fault{fmt::format("input '{}' lies over weights or state", name(placed.value))};
      write(placed.value, placed.offset);
    }
  }

  // Where a value's 16-bit form lies, after everything that can be said against that place.
  Range packed_range(ValueId id, std::int64_t offset) const {
    const Spec& spec = graph_.spec(id);
    const std::int64_t planes = spec.layout == Layout::blocked && spec.dtype == DType::f32
                                    ? spec.shape[0] * spec.blocks()
                                    : 0;
    if (planes == 0) fail("'{}' has no 16-bit form", name(id));
    const Range packed{offset, planes * spec.lanes * 4 + spec.bytes() / 2};
    arena_.check_inside(packed, "a 16-bit form");
    if (packed.begin < rules_.resident_bytes) fail("'{}' lies over weights or state", name(id));
    return packed;
  }

  void check_overlaps(const Instruction& instruction, const Node& node) const {
    const std::vector<Range> scratch{{instruction.scratch, rules_.scratch[instruction.node.at()]}};
    arena_.check_inside(scratch[0], "scratch");
    if (scratch[0].bytes > 0 && scratch[0].begin < rules_.resident_bytes)
      fail("scratch of '{}' lies over weights or state", node.name);
    std::vector<std::vector<Range>> in;
    std::vector<std::vector<Range>> out;
    for (std::size_t i = 0; i < node.in.size(); ++i)
      in.push_back(parts_->extent(node.in[i], instruction.in[i]));
    for (std::size_t o = 0; o < node.out.size(); ++o)
      out.push_back(parts_->extent(node.out[o], instruction.out[o]));
    for (const auto& operand : in)
      if (overlap(operand, scratch)) fail("scratch of '{}' lies over an input", node.name);
    if (instruction.packed >= 0) {
      if (!rules_.packs[instruction.node.at()] || graph_.value(node.in[0]).home)
        fail("'{}' cannot write a 16-bit form", node.name);
      const std::vector<Range> packed{packed_range(node.in[0], instruction.packed)};
      const auto is_hit = [&](const std::vector<Range>& other) { return overlap(packed, other); };
      if (is_hit(scratch) || std::any_of(in.begin(), in.end(), is_hit) ||
          std::any_of(out.begin(), out.end(), is_hit))
        fail("an operand of '{}' overlaps a 16-bit form", node.name);
    }
    for (std::size_t o = 0; o < out.size(); ++o) {
      if (overlap(out[o], scratch)) fail("scratch of '{}' lies over an output", node.name);
      for (std::size_t other = 0; other < o; ++other)
        if (overlap(out[o], out[other])) fail("outputs of '{}' overlap", node.name);
      bool updates = false;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const auto rule =
            std::find_if(node.op->in_place.begin(), node.op->in_place.end(), [&](const InPlace& r) {
              return static_cast<std::size_t>(r.out) == o && static_cast<std::size_t>(r.over) == i;
            });
        const bool permitted = rule != node.op->in_place.end();
        const bool same = instruction.in[i] == instruction.out[o] && in[i].size() == 1 &&
                          out[o].size() == 1 && in[i][0].bytes == out[o][0].bytes;
        if (permitted && rule->required) {
          updates = rules_.resident_offset[node.in[i].at()] >= 0;
          if (!same) fail("'{}' must be written over '{}'", name(node.out[o]), name(node.in[i]));
        }
        // One tensor given twice is read twice: then no output may lie over it.
        const auto twice =
            std::count(instruction.in.begin(), instruction.in.end(), instruction.in[i]);
        if (overlap(in[i], out[o]) && !(permitted && same && twice == 1))
          fail("output '{}' lies over input '{}'", name(node.out[o]), name(node.in[i]));
      }
      if (!updates)
        for (const Range& range : out[o])
          if (range.begin < rules_.resident_bytes)
            fail("'{}' lies over weights or state", name(node.out[o]));
    }
  }

  void execute(const Instruction& instruction) {
    if (instruction.kind != StepKind::run) return convert(instruction);
    const Node& node = graph_.node(instruction.node);
    const std::size_t n = instruction.node.at();
    if (instruction.again != (runs_[n] > 0))
      fail("'{}' {}", node.name, runs_[n] > 0 ? "runs twice" : "runs again before it ran");
    ++runs_[n];
    Content made = mix(4, n);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      read(node.in[i], instruction.in[i], "input");
      made = mix(made, content_of(node.in[i]));
    }
    check_overlaps(instruction, node);
    arena_.write({instruction.scratch, rules_.scratch[n]}, kUndefined, 0);
    if (instruction.packed >= 0) pack(node.in[0], packed_range(node.in[0], instruction.packed));
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      Content& content = content_[node.out[o].at()];
      const Content now = mix(made, o + 1);
      if (instruction.again && content != now)
        fail("'{}' is made again of other values than before", name(node.out[o]));
      content = now;
      write(node.out[o], instruction.out[o]);
    }
  }

  // The 16-bit form stands for its value: lossy, but the same for everybody who reads it.
  Content packed_content(ValueId id) const { return mix(5, content_of(id)); }
  void pack(ValueId id, const Range& packed) { arena_.write(packed, packed_content(id), 0); }
  void convert(const Instruction& instruction) {
    const ValueId id = instruction.value;
    const bool packs = instruction.kind == StepKind::pack;
    const Range packed = packed_range(id, packs ? instruction.out[0] : instruction.in[0]);
    const std::int64_t offset = packs ? instruction.in[0] : instruction.out[0];
    if (offset < rules_.resident_bytes) fail("'{}' lies over weights or state", name(id));
    if (overlap(parts_->extent(id, offset), {packed}))
      fail("'{}' overlaps its 16-bit form", name(id));
    if (packs) {
      read(id, offset, "input");
      pack(id, packed);
    } else {
      if (!arena_.holds(packed, packed_content(id), 0))
        fail("the 16-bit form of '{}' does not lie at {}", name(id), packed.begin);
      write(id, offset);
    }
  }

  void begin_transfer(std::size_t index) {
    const Transfer& transfer = tape_.transfers[index];
    const Range there{transfer.offset, transfer.bytes};
    const Range file{transfer.file_offset, transfer.bytes};
    arena_.check_inside(there, "a transfer");
    file_.check_inside(file, "a transfer's place in the file");
    if (there.begin < rules_.resident_bytes) fail("a transfer lies over weights or state");
    if (transfer.store) {
      read(transfer.value, transfer.offset, "spilled value");
    } else {
      if (!file_.holds(file, mix(6, content_of(transfer.value)), 0))
        fail("'{}' is not in the spill file", name(transfer.value));
      arena_.write(there, mix(7, index), 0);
    }
    under_way_.push_back(index);
  }
  void end_transfers(std::size_t instruction) {
    std::erase_if(under_way_, [&](std::size_t index) {
      const Transfer& transfer = tape_.transfers[index];
      if (static_cast<std::size_t>(transfer.end) > instruction &&
          instruction < tape_.instructions.size())
        return false;
      const Range there{transfer.offset, transfer.bytes};
      if (transfer.store) {
        read(transfer.value, transfer.offset, "spilled value");
        file_.write({transfer.file_offset, transfer.bytes}, mix(6, content_of(transfer.value)), 0);
      } else {
        if (!arena_.holds(there, mix(7, index), 0))
          fail("'{}' is disturbed while it is read back", name(transfer.value));
        write(transfer.value, transfer.offset);
      }
      return true;
    });
  }

  // The exchange of the instruction that has just run, if that is to be exchanged.
  std::size_t begin_exchange(std::size_t index) {
    const Instruction& instruction = tape_.instructions[at_];
    if (instruction.kind != StepKind::run || !graph_.node(instruction.node).op->exchanged)
      return index;
    const Node& node = graph_.node(instruction.node);
    if (index == tape_.exchanges.size()) fail("'{}' is never exchanged", node.name);
    const Exchange& exchange = tape_.exchanges[index];
    if (exchange.node != instruction.node || static_cast<std::size_t>(exchange.begin) != at_ + 1)
      fail("'{}' is exchanged out of order", node.name);
    for (std::size_t i = 0; i < node.in.size(); ++i)
      if (exchange.segments[i].offset != instruction.in[i] ||
          exchange.segments[i].bytes != graph_.spec(node.in[i]).bytes())
        fail("of '{}' other bytes are exchanged than '{}'", node.name, name(node.in[i]));
    // Until the others' are there, what lies there is no sum.
    for (std::size_t o = 0; o < node.out.size(); ++o)
      arena_.write({exchange.segments[o].offset, exchange.segments[o].bytes}, under_way(index, o),
                   0);
    exchanging_.push_back(index);
    return index + 1;
  }
  static Content under_way(std::size_t exchange, std::size_t out) {
    return mix(mix(8, exchange), out);
  }
  void end_exchanges(std::size_t instruction) {
    std::erase_if(exchanging_, [&](std::size_t index) {
      const Exchange& exchange = tape_.exchanges[index];
      if (static_cast<std::size_t>(exchange.end) > instruction) return false;
      const Node& node = graph_.node(exchange.node);
      for (std::size_t i = 0; i < node.in.size(); ++i) {
        const Exchange::Segment& segment = exchange.segments[i];
        if (i >= node.out.size()) {
          read(node.in[i], segment.offset, "slot");
          continue;
        }
        if (!arena_.holds({segment.offset, segment.bytes}, under_way(index, i), 0))
          fail("'{}' is disturbed while it is exchanged", name(node.out[i]));
        write(node.out[i], segment.offset);
      }
      return true;
    });
  }

  void check_end(std::size_t transfers_begun) const {
    if (transfers_begun != tape_.transfers.size()) throw Fault{"a transfer never begins"};
    std::vector<bool> updated(graph_.values().size(), false);
    // Backwards: where one update follows another, what the last made is what lies there.
    for (std::size_t n = runs_.size(); n-- > 0;)
      for (const InPlace& rule : graph_.nodes()[n].op->in_place) {
        if (!rule.required) continue;
        const Node& node = graph_.nodes()[n];
        if (static_cast<std::size_t>(rule.out) >= node.out.size()) continue;
        const ValueId over = node.in[static_cast<std::size_t>(rule.over)];
        if (runs_[n] != 1)
          throw Fault{fmt::format("update '{}' runs {} times", node.name, runs_[n])};
        if (rules_.resident_offset[over.at()] < 0) continue;
        updated[over.at()] = true;
        const ValueId made = node.out[static_cast<std::size_t>(rule.out)];
        if (!updated[made.at()]) read(made, rules_.resident_offset[over.at()], "updated");
      }
    for (std::size_t v = 0; v < updated.size(); ++v)
      if (is_resident(graph_.values()[v].role) && !updated[v])
        read(ValueId{static_cast<std::int32_t>(v)}, rules_.resident_offset[v], "resident");
    for (ValueId result : rules_.results) {
      const auto placed =
          std::find_if(tape_.results.begin(), tape_.results.end(),
                       [&](const PlacedValue& candidate) { return candidate.value == result; });
      if (placed == tape_.results.end())
        throw Fault{fmt::format("result '{}' is not among the tape's", name(result))};
      read(result, placed->offset, "result");
    }
  }

  const Graph& graph_;
  const Tape& tape_;
  const ReplayRules& rules_;
  Memory arena_;
  Memory file_;
  std::vector<Content> content_;  // per value: what it holds once made
  std::optional<Parts> parts_;    // once the form is known to be good
  std::vector<int> runs_;
  std::vector<std::size_t> under_way_;   // transfers
  std::vector<std::size_t> exchanging_;  // exchanges
  std::size_t at_ = 0;
};

}  // namespace
}  // namespace replay

std::optional<std::string> find_fault(const Graph& graph, const Tape& tape,
                                      const ReplayRules& rules) {
  try {
    if (tape.arena_bytes < 0 || tape.spill_bytes < 0)
      throw replay::Fault{"an arena of less than nothing"};
    replay::Replay(graph, tape, rules).run();
    return std::nullopt;
  } catch (const replay::Fault& fault) {
    return fault.what;
  }
}

}  // namespace plimsoll
