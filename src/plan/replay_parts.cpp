#include "plan/replay_parts.h"

#include <algorithm>

namespace plimsoll::replay {
namespace {

// Those of `channels` channels from `first` on.
std::vector<Part> cut(const std::vector<Part>& parts, std::int64_t first, std::int64_t channels) {
  std::vector<Part> result;
  std::int64_t position = 0;
  for (const Part& part : parts) {
    const std::int64_t from = std::max(first, position);
    const std::int64_t to = std::min(first + channels, position + part.channels);
    if (from < to)
      result.push_back({part.maker_value, part.first_channel + from - position, to - from});
    position += part.channels;
  }
  return result;
}

}  // namespace

Parts::Parts(const Graph& graph, const Tape& tape) : graph_(graph) {
  std::vector<bool> runs(graph_.nodes().size(), false);
  for (const Instruction& instruction : tape.instructions)
    if (instruction.kind == StepKind::run) runs[instruction.node.at()] = true;
  parts_.resize(graph_.values().size());
  for (std::size_t v = 0; v < parts_.size(); ++v) {
    const Spec& spec = graph_.values()[v].spec;
    const bool is_image = spec.layout == Layout::blocked;
    parts_[v] = {{ValueId{static_cast<std::int32_t>(v)}, 0, is_image ? spec.shape[1] : 0}};
  }
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const Node& node = graph_.nodes()[n];
    if (runs[n]) continue;
    if (node.op->view == ViewKind::concat) {
      std::vector<Part> parts;
      for (ValueId in : node.in)
        parts.insert(parts.end(), parts_[in.at()].begin(), parts_[in.at()].end());
      parts_[node.out[0].at()] = std::move(parts);
    } else if (node.op->view == ViewKind::split) {
      std::int64_t first = 0;
      for (ValueId out : node.out) {
        const std::int64_t channels = graph_.spec(out).shape[1];
        parts_[out.at()] = cut(parts_[node.in[0].at()], first, channels);
        first += channels;
      }
    } else {
      throw Fault{fmt::format("{} '{}' never runs", node.op->name, node.name)};
    }
  }
}

std::vector<Range> Parts::extent(ValueId id, std::int64_t offset) const {
  std::vector<Range> ranges;
  for_pieces(id, offset, [&](const Range& range, ValueId, std::int64_t) {
    if (!ranges.empty() && ranges.back().end() == range.begin)
      ranges.back().bytes += range.bytes;
    else
      ranges.push_back(range);
  });
  return ranges;
}

}  // namespace plimsoll::replay
