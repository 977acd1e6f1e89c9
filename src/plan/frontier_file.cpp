#include "plan/frontier_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "base/files.h"
#include "base/random.h"
#include "base/text.h"
#include "plan/schedule.h"

namespace plimsoll {
namespace {

// Raised whenever the search changes, so that no old frontier is taken for a new one.
constexpr int kVersion = 6;
constexpr std::string_view kLetters = "krehsu";  // one per Fate

std::string head_line(std::uint64_t key) {
  return fmt::format("plimsoll-frontier {} {}", kVersion, key);
}

std::string letters_of(const Problem& problem, const Fates& fates) {
  std::string letters;
  for (std::int32_t root : problem.choices())
    letters += kLetters[static_cast<std::size_t>(fates[static_cast<std::size_t>(root)])];
  return letters;
}

std::optional<PlanPoint> parse_point(std::string_view line, const Problem& problem) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() < 3) return std::nullopt;
  const std::string_view letters = words[2];
  const auto bytes = parse_integer(words[0]);
  if (!bytes || letters.size() != problem.choices().size()) return std::nullopt;
  PlanPoint point{.bytes = *bytes,
                  .extra_seconds = std::strtod(std::string(words[1]).c_str(), nullptr),
                  .fates = problem.all(Fate::keep)};
  for (std::size_t c = 0; c < letters.size(); ++c) {
    const std::int32_t root = problem.choices()[c];
    const std::size_t letter = kLetters.find(letters[c]);
    if (letter == std::string_view::npos || !problem.permits(root, static_cast<Fate>(letter)))
      return std::nullopt;
    point.fates[static_cast<std::size_t>(root)] = static_cast<Fate>(letter);
  }
  for (std::size_t w = 3; w < words.size(); ++w) {
    const auto offset = parse_integer(words[w]);
    if (!offset || *offset < 0 || *offset > *bytes / kAlignment) return std::nullopt;
    point.offsets.push_back(*offset * kAlignment);
  }
  return point;
}

// No two blocks that are needed at one step overlap.
bool lie_apart(std::span<const Block> blocks, std::span<const std::int64_t> offsets) {
  struct Event {
    int step;
    bool begins;  // a block is needed up to and including its last step
    std::size_t block;
  };
  std::vector<Event> events;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].bytes == 0) continue;
    events.push_back({blocks[b].first, true, b});
    events.push_back({blocks[b].last + 1, false, b});
  }
  std::ranges::sort(events, {},
                    [](const Event& e) { return std::tuple(e.step, e.begins, e.block); });
  std::map<std::int64_t, std::int64_t> live;  // begin, end
  for (const Event& event : events) {
    const std::int64_t begin = offsets[event.block];
    if (!event.begins) {
      live.erase(begin);
      continue;
    }
    const std::int64_t end = begin + blocks[event.block].bytes;
    const auto behind = live.lower_bound(begin);
    if (behind != live.end() && behind->first < end) return false;
    if (behind != live.begin() && std::prev(behind)->second > begin) return false;
    live.emplace_hint(behind, begin, end);
  }
  return true;
}

// Whether the point is a plan of this problem that costs what it says. A text may have the right
// checksum and yet be nobody's frontier.
bool is_plan(const PlanPoint& point, Scheduler& scheduler) {
  if (!scheduler.run(point.fates)) return false;
  const std::span<const Block> blocks = scheduler.blocks();
  if (blocks.size() != point.offsets.size() ||
      scheduler.schedule().extra_seconds != point.extra_seconds)
    return false;
  std::int64_t top = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    top = std::max(top, point.offsets[b] + blocks[b].bytes);
  return top == point.bytes && lie_apart(blocks, point.offsets);
}

}  // namespace

std::uint64_t frontier_key(const Problem& problem, const Means& means) {
  std::string text = fmt::format("{} {} {} {}\n", kVersion, means.half, means.spill,
                                 problem.request().resident_bytes);
  for (const NodeWork& work : problem.request().work)
    text += fmt::format("{} {:a} {}\n", work.scratch, work.seconds, work.packs);
  for (ValueId result : problem.request().results) text += fmt::format("{} ", result.at());
  return fnv1a64(text + to_text(problem.graph()));
}

std::string frontier_text(const Frontier& frontier, std::uint64_t key, const Problem& problem) {
  std::string text = head_line(key) + '\n';
  for (const PlanPoint& point : frontier.points) {
    text += fmt::format("{} {:a} {}", point.bytes, point.extra_seconds,
                        letters_of(problem, point.fates));
    for (std::int64_t offset : point.offsets) text += fmt::format(" {}", offset / kAlignment);
    text += '\n';
  }
  return text + fmt::format("end {}\n", fnv1a64(text));
}

std::optional<Frontier> parse_frontier(std::string_view text, std::uint64_t key,
                                       const Problem& problem) {
  const std::size_t end = text.rfind("end ");
  if (end == std::string_view::npos) return std::nullopt;
  if (text.substr(end) != fmt::format("end {}\n", fnv1a64(text.substr(0, end))))
    return std::nullopt;
  // A head, a line for every point, and nothing behind the last line's end.
  const std::vector<std::string_view> lines = split(text.substr(0, end), '\n');
  if (lines.size() < 3 || lines.front() != head_line(key)) return std::nullopt;
  Frontier frontier;
  Scheduler scheduler(problem);
  for (std::size_t l = 1; l + 1 < lines.size(); ++l) {
    auto point = parse_point(lines[l], problem);
    if (!point || !is_plan(*point, scheduler)) return std::nullopt;
    // Falling bytes, rising time.
    if (!frontier.points.empty() && (point->bytes >= frontier.points.back().bytes ||
                                     point->extra_seconds <= frontier.points.back().extra_seconds))
      return std::nullopt;
    frontier.points.push_back(std::move(*point));
  }
  return frontier;
}

Frontier cached_frontier(const Problem& problem, const Means& means,
                         const std::filesystem::path& directory) {
  if (directory.empty()) return find_frontier(problem, means);
  const std::uint64_t key = frontier_key(problem, means);
  const std::filesystem::path path = directory / fmt::format("frontier-{:016x}.txt", key);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    try {
      if (auto known = parse_frontier(read_file(path, 256_MiB), key, problem))
        return std::move(*known);
    } catch (const std::exception&) {
      // Cannot be read: find it anew, as if it were not there.
    }
  }
  Frontier frontier = find_frontier(problem, means);
  try {
    make_directories(directory);
    write_file(path, frontier_text(frontier, key, problem));
  } catch (const std::exception&) {
    // Not kept: the next plan finds it again.
  }
  return frontier;
}

}  // namespace plimsoll
