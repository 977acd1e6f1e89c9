#include "dist/word.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/packed.h"

namespace plimsoll::dist {
namespace {

constexpr std::uint32_t kVersion = 0x504C5701;  // the last byte counts

enum Flags : std::uint32_t {
  kStops = 1,
  kSaves = 2,
  kHasFailed = 4,
  kHasNews = 8,
  kHasWeights = 16,
  kAll = 31,
};

}  // namespace

WordBytes pack_word(const Word& word) {
  const std::uint32_t flags = (word.stops ? kStops : 0U) | (word.saves ? kSaves : 0U) |
                              (word.has_failed ? kHasFailed : 0U) |
                              (word.has_news ? kHasNews : 0U) | (word.weights ? kHasWeights : 0U);
  WordBytes bytes{};
  std::size_t at = 0;
  const auto put = [&](const auto& value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    at += sizeof value;
  };
  put(kVersion);
  put(flags);
  put(word.step);
  put(word.weights.value_or(0));
  at += 4;
  put(word.seconds);
  put(word.waited_for_data);
  put(word.waited_for_others);
  return bytes;
}

Word parse_word(std::span<const std::byte> bytes, const std::string& where) {
  Unpacker unpacker({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
  if (unpacker.take<std::uint32_t>() != kVersion) unpacker.fail("a word of another version");
  const auto flags = unpacker.take<std::uint32_t>();
  if ((flags & ~std::uint32_t{kAll}) != 0) unpacker.fail("a word with unknown flags");
  Word word{.step = unpacker.take<std::int64_t>(),
            .stops = (flags & kStops) != 0,
            .saves = (flags & kSaves) != 0,
            .has_failed = (flags & kHasFailed) != 0,
            .has_news = (flags & kHasNews) != 0};
  const auto weights = unpacker.take<std::uint32_t>();
  if ((flags & kHasWeights) != 0) word.weights = weights;
  if (unpacker.take<std::uint32_t>() != 0 || (!word.weights && weights != 0) || word.step < 0)
    unpacker.fail("a word that does not hold together");
  for (double* seconds : {&word.seconds, &word.waited_for_data, &word.waited_for_others}) {
    *seconds = unpacker.take<double>();
    if (!std::isfinite(*seconds)) unpacker.fail("a time that is none");
  }
  unpacker.end();
  return word;
}

std::vector<int> find_odd_ranks(std::span<const Word> words) {
  std::map<std::uint32_t, int> votes;
  for (const Word& word : words)
    if (word.weights) ++votes[*word.weights];
  if (votes.size() < 2) return {};
  std::uint32_t right = *std::ranges::find_if(words, [](const Word& word) {
                           return word.weights.has_value();
                         })->weights;
  for (const auto& [checksum, count] : votes)
    if (count > votes[right]) right = checksum;
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < words.size(); ++rank)
    if (words[rank].weights && *words[rank].weights != right) odd.push_back(static_cast<int>(rank));
  return odd;
}

}  // namespace plimsoll::dist
