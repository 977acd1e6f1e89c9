#include "plan/frontier_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/bytes.h"
#include "base/files.h"
#include "base/random.h"

namespace plimsoll {
namespace {

// Raised whenever the search changes, so that no old frontier is taken for a new one.
constexpr int kVersion = 4;
constexpr std::string_view kHead = "plimsoll-frontier";
constexpr std::string_view kLetters = "krehsu";  // one per Fate

// The words of a text, one after the other. Streams take ten times as long, and a frontier has some
// hundred thousand.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  // Empty at the end.
  std::string_view next() {
    const std::size_t begin = std::min(rest_.find_first_not_of(" \n"), rest_.size());
    const std::size_t end = std::min(rest_.find_first_of(" \n", begin), rest_.size());
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }
  // Whether the next word is a number, which is then in `value`.
  template <class Number>
  bool read(Number& value) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc{} && end == word.data() + word.size();
  }

 private:
  std::string_view rest_;
};

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
  std::string text = fmt::format("{} {} {} {}\n", kHead, kVersion, key, frontier.points.size());
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
  Words words(text.substr(0, end));
  int version = 0;
  std::uint64_t found_key = 0;
  std::size_t count = 0;
  if (words.next() != kHead || !words.read(version) || version != kVersion ||
      !words.read(found_key) || found_key != key || !words.read(count))
    return std::nullopt;
  Frontier frontier;
  for (std::size_t i = 0; i < count; ++i) {
    PlanPoint point{.fates = problem.all(Fate::keep)};
    if (!words.read(point.bytes)) return std::nullopt;
    point.extra_seconds = std::strtod(std::string(words.next()).c_str(), nullptr);
    const std::string_view letters = words.next();
    std::size_t blocks = 0;
    if (letters.size() != problem.choices().size() || !words.read(blocks) || blocks > text.size())
      return std::nullopt;
    point.offsets.resize(blocks);
    for (std::int64_t& offset : point.offsets) {
      if (!words.read(offset)) return std::nullopt;
      offset *= kAlignment;
    }
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
