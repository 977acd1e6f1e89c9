// Small operations on text that messages and parsers share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Single-character edits (insert, delete, replace, swap of neighbours) that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The candidate most like `name`, letter case ignored, or nothing if none is close enough to be a
// slip of the hand (a third of the longer word, at least one edit). The first of equals wins.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);
std::optional<std::string> nearest(std::string_view name,
                                   std::span<const std::string_view> candidates);

// "did you mean 'xception'?", or empty. For the hint of an Error.
std::string did_you_mean(const std::optional<std::string>& candidate);

std::string join(std::span<const std::string> parts, std::string_view separator);

// The pieces between separators; one more than there are separators. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

// Without the blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

// With the letters of ASCII in lower case.
std::string to_lower(std::string_view text);

// A whole number that is all of the text, with at most a minus before it; nothing otherwise.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Whether all of it is well-formed UTF-8.
bool is_utf8(std::string_view text);

// A path with slashes and its ancestors, deepest first: "/a/b" gives "/a/b", "/a", "/"; "a/b" gives
// "a/b", "a".
std::vector<std::string> levels(std::string_view path);

}  // namespace plimsoll
