#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace plimsoll {
namespace {

template <class Text>
std::optional<std::string> nearest_of(std::string_view name, std::span<const Text> candidates) {
  const std::string wanted = to_lower(name);
  std::optional<std::string> best;
  int best_distance = 0;
  for (const Text& candidate : candidates) {
    const int distance = edit_distance(wanted, to_lower(candidate));
    const auto longer = static_cast<int>(std::max(wanted.size(), candidate.size()));
    if (distance > std::max(1, longer / 3)) continue;
    // A word of which nothing is left is no slip.
    if (distance >= longer) continue;
    if (!best || distance < best_distance) {
      best = std::string(candidate);
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: before the last (for swaps), last, current.
  std::vector<int> before(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  return nearest_of(name, candidates);
}

std::optional<std::string> nearest(std::string_view name,
                                   std::span<const std::string_view> candidates) {
  return nearest_of(name, candidates);
}

std::string did_you_mean(const std::optional<std::string>& candidate) {
  return candidate ? "did you mean '" + *candidate + "'?" : std::string();
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string result;
  for (const std::string& part : parts) {
    if (&part != parts.data()) result += separator;
    result += part;
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  while (at < text.size()) {
    const unsigned char lead = byte(at);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || at + length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i)
      if ((byte(at + i) & 0xC0) != 0x80) return false;
    // Overlong forms, surrogates, and what lies behind U+10FFFF.
    if (length > 2) {
      const unsigned char second = byte(at + 1);
      if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
          (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
        return false;
    }
    at += length;
  }
  return true;
}

std::vector<std::string> levels(std::string_view path) {
  std::vector<std::string> result;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty() && path != "/") {
    result.emplace_back(path);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return result;
    path = path.substr(0, slash == 0 ? 1 : slash);
  }
  if (!path.empty()) result.emplace_back(path);
  return result;
}

}  // namespace plimsoll
