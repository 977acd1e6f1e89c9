#include "data/picture/orientation.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

class TiffReader {
 public:
  explicit TiffReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool has(std::size_t offset, std::size_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  void set_little(bool little) { little_ = little; }
  std::uint32_t number(std::size_t offset, std::size_t size) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = little_ ? offset + size - 1 - i : offset + i;
      value = value << 8 | std::to_integer<std::uint32_t>(bytes_[at]);
    }
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_ = false;
};

template <int channels>
void turn(const std::uint8_t* row, std::int64_t y, Size stored, Turn turn, Picture& to) {
  const std::int64_t line = turn.transpose ? (turn.mirror_x ? to.width - 1 - y : y)
                                           : (turn.mirror_y ? to.height - 1 - y : y);
  const bool mirrors = turn.transpose ? turn.mirror_y : turn.mirror_x;
  const std::int64_t step = turn.transpose ? to.row_bytes() : channels;
  std::uint8_t* out = turn.transpose ? to.row(0) + line * channels : to.row(line);
  if (mirrors) out += (stored.width - 1) * step;
  for (std::int64_t x = 0; x < stored.width; ++x, row += channels, out += mirrors ? -step : step)
    for (int c = 0; c < channels; ++c) out[c] = row[c];
}

}  // namespace

Turn turn_of(int orientation) {
  switch (orientation) {
    case 2: return {.mirror_x = true};
    case 3: return {.mirror_x = true, .mirror_y = true};
    case 4: return {.mirror_y = true};
    case 5: return {.transpose = true};
    case 6: return {.transpose = true, .mirror_x = true};
    case 7: return {.transpose = true, .mirror_x = true, .mirror_y = true};
    case 8: return {.transpose = true, .mirror_y = true};
    default: return {};
  }
}

std::optional<int> exif_orientation(std::span<const std::byte> tiff) {
  constexpr std::size_t kEntry = 12;
  constexpr std::uint32_t kOrientation = 0x0112;
  constexpr std::uint32_t kShort = 3;
  TiffReader reader(tiff);
  if (!reader.has(0, 8)) return std::nullopt;
  const std::uint32_t mark = reader.number(0, 2);
  if (mark != 0x4949 && mark != 0x4D4D) return std::nullopt;
  reader.set_little(mark == 0x4949);
  if (reader.number(2, 2) != 42) return std::nullopt;
  const std::size_t directory = reader.number(4, 4);
  if (!reader.has(directory, 2)) return std::nullopt;
  const std::uint32_t entries = reader.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (!reader.has(entry, kEntry)) return std::nullopt;
    if (reader.number(entry, 2) != kOrientation) continue;
    if (reader.number(entry + 2, 2) != kShort || reader.number(entry + 4, 4) != 1) return 1;
    const std::uint32_t value = reader.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(std::span<const std::byte> packet) {
  constexpr std::string_view kName = "tiff:Orientation";
  const std::string_view text(reinterpret_cast<const char*>(packet.data()), packet.size());
  for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at)) {
    at += kName.size();
    std::string_view value = text.substr(at);
    if (value.starts_with("=\""))
      value.remove_prefix(2);
    else if (value.starts_with('>'))
      value.remove_prefix(1);
    else
      continue;
    if (!value.empty() && value[0] >= '1' && value[0] <= '8') return value[0] - '0';
  }
  return std::nullopt;
}

Rect upright(const Rect& rect, int orientation, Size stored) {
  const Turn turn = turn_of(orientation);
  const Size whole = upright(stored, orientation);
  Rect out = rect;
  if (turn.transpose) out = {rect.y, rect.x, rect.height, rect.width};
  if (turn.mirror_x) out.x = whole.width - out.x - out.width;
  if (turn.mirror_y) out.y = whole.height - out.y - out.height;
  return out;
}

Rect stored(const Rect& rect, int orientation, Size stored) {
  const Turn turn = turn_of(orientation);
  const Size whole = upright(stored, orientation);
  Rect out = rect;
  if (turn.mirror_x) out.x = whole.width - out.x - out.width;
  if (turn.mirror_y) out.y = whole.height - out.y - out.height;
  if (turn.transpose) out = {out.y, out.x, out.height, out.width};
  return out;
}

Point upright(Point point, int orientation, Size stored) {
  const Turn turn = turn_of(orientation);
  const Size whole = upright(stored, orientation);
  if (turn.transpose) std::swap(point.x, point.y);
  if (turn.mirror_x) point.x = static_cast<double>(whole.width) - point.x;
  if (turn.mirror_y) point.y = static_cast<double>(whole.height) - point.y;
  return point;
}

void turn_row(const std::uint8_t* row, std::int64_t y, Size stored, int orientation, Picture& to) {
  if (to.channels == 1)
    turn<1>(row, y, stored, turn_of(orientation), to);
  else
    turn<3>(row, y, stored, turn_of(orientation), to);
}

}  // namespace plimsoll
