// Letters as pixels: ASCII, 5 by 7, for labels inside pictures.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::draw {

inline constexpr std::int64_t kGlyphWidth = 5, kGlyphHeight = 7;
inline constexpr std::int64_t kGlyphAdvance = 6;  // from one letter to the next

// Whether the letter is black at this column and row, counted from its upper left corner. What is
// not printable ASCII looks like '?'.
bool glyph_pixel(char letter, std::int64_t column, std::int64_t row);

}  // namespace plimsoll::draw
