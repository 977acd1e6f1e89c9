#include "plan/frontier_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "base/bytes.h"
#include "base/files.h"
#include "base/random.h"

namespace plimsoll {
namespace {

// Raised whenever the search changes, so that no old frontier is taken for a new one.
constexpr int kVersion = 4;
constexpr std::string_view kLetters = "krehsu";  // one per Fate

std::string letters_of(const Problem& problem, const Fates& fates) {
  std::string letters;
  for (std::int32_t root : problem.choices())
    letters += kLetters[static_cast<std::size_t>(fates[static_cast<std::size_t>(root)])];
  return letters;
}

}  // namespace

std::uint64_t frontier_key(const Problem& problem, const Means& means) {
  std::string text =
      fmt::format("{} {} {} {} {}\n", kVersion, means.half, means.spill,
                  problem.request().resident_bytes, problem.request().backward_begin);
  for (const NodeWork& work : problem.request().work)
    text += fmt::format("{} {:a}\n", work.scratch, work.seconds);
  for (ValueId result : problem.request().results) text += fmt::format("{} ", result.at());
  return fnv1a64(text + to_text(problem.graph()));
}

std::string frontier_text(const Frontier& frontier, std::uint64_t key, const Problem& problem) {
  std::string text =
      fmt::format("plimsoll-frontier {} {} {}\n", kVersion, key, frontier.points.size());
  for (const PlanPoint& point : frontier.points) {
    text += fmt::format("{} {:a} {} {}", point.bytes, point.extra_seconds,
                        letters_of(problem, point.fates), point.offsets.size());
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
  std::istringstream lines{std::string(text.substr(0, end))};
  std::string word;
  int version = 0;
  std::uint64_t found_key = 0;
  std::size_t count = 0;
  if (!(lines >> word >> version >> found_key >> count) || version != kVersion || found_key != key)
    return std::nullopt;
  Frontier frontier;
  for (std::size_t i = 0; i < count; ++i) {
    PlanPoint point{.fates = problem.all(Fate::keep)};
    std::string seconds;
    std::string letters;
    std::size_t blocks = 0;
    if (!(lines >> point.bytes >> seconds >> letters >> blocks) ||
        letters.size() != problem.choices().size() || blocks > text.size())
      return std::nullopt;
    point.offsets.resize(blocks);
    for (std::int64_t& offset : point.offsets) {
      if (!(lines >> offset)) return std::nullopt;
      offset *= kAlignment;
    }
    point.extra_seconds = std::strtod(seconds.c_str(), nullptr);
    for (std::size_t c = 0; c < letters.size(); ++c) {
      const std::size_t fate = kLetters.find(letters[c]);
      if (fate == std::string_view::npos) return std::nullopt;
      point.fates[static_cast<std::size_t>(problem.choices()[c])] = static_cast<Fate>(fate);
    }
    frontier.points.push_back(std::move(point));
  }
  if (frontier.points.empty()) return std::nullopt;
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
      if (auto known = parse_frontier(read_file(path, 256_MiB), key, problem)) return *known;
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
