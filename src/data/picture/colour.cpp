#include "data/picture/colour.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace plimsoll {
namespace {

using Table = std::array<std::uint8_t, 256>;

template <class Function>
Table make_table(Function function) {
  Table table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = function(static_cast<double>(i));
  return table;
}

// Levels are cut to those the picture had.
void shift_levels(std::uint8_t* hwc, std::int64_t count, double shift) {
  std::uint8_t least = 255;
  std::uint8_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    least = std::min(least, hwc[i]);
    most = std::max(most, hwc[i]);
  }
  const Table table =
      make_table([&](double x) { return std::clamp(round_level(x + shift), least, most); });
  for (std::int64_t i = 0; i < count; ++i) hwc[i] = table[hwc[i]];
}

void change_contrast(std::uint8_t* hwc, std::int64_t pixels, int channels, double factor) {
  std::array<std::int64_t, 3> sums{};
  for (std::int64_t i = 0; i < pixels; ++i)
    for (int c = 0; c < channels; ++c) sums[static_cast<std::size_t>(c)] += hwc[i * channels + c];
  std::array<Table, 3> tables{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double mean = static_cast<double>(sums[c]) / static_cast<double>(pixels);
    tables[c] = make_table([&](double x) { return round_level((x - mean) * factor + mean); });
  }
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c, ++hwc)
      *hwc = tables[c][*hwc];
}

// Some pixels with their channels apart, so that the compiler can do eight at a time.
constexpr std::int64_t kBlock = 256;
struct Block {
  std::array<float, kBlock> red;
  std::array<float, kBlock> green;
  std::array<float, kBlock> blue;
};

std::uint8_t to_byte(float level) {
  return static_cast<std::uint8_t>(std::min(std::max(level + 0.5F, 0.0F), 255.0F));
}

// Calls change(red, green, blue), which changes the three, for every pixel.
template <class Change>
void for_pixels(std::uint8_t* rgb, std::int64_t pixels, Change change) {
  Block block{};
  for (std::int64_t begin = 0; begin < pixels; begin += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, pixels - begin));
    std::uint8_t* in = rgb + 3 * begin;
    for (std::size_t i = 0; i < count; ++i) {
      block.red[i] = static_cast<float>(in[3 * i]);
      block.green[i] = static_cast<float>(in[3 * i + 1]);
      block.blue[i] = static_cast<float>(in[3 * i + 2]);
    }
    for (std::size_t i = 0; i < block.red.size(); ++i)
      change(block.red[i], block.green[i], block.blue[i]);
    for (std::size_t i = 0; i < count; ++i) {
      in[3 * i] = to_byte(block.red[i]);
      in[3 * i + 1] = to_byte(block.green[i]);
      in[3 * i + 2] = to_byte(block.blue[i]);
    }
  }
}

float greatest(float a, float b) { return a > b ? a : b; }
float smallest(float a, float b) { return a < b ? a : b; }

// Saturation of HSV is (most - least) / most: to scale it is to scale each channel's distance to
// the greatest, as far as the least stays above 0.
void change_saturation(std::uint8_t* rgb, std::int64_t pixels, float factor) {
  for_pixels(rgb, pixels, [factor](float& r, float& g, float& b) {
    const float most = greatest(r, greatest(g, b));
    const float spread = most - smallest(r, smallest(g, b));
    const float widest = most / greatest(spread, 1.0F);  // levels are whole: 1 stands for none
    const float scale = smallest(factor, widest);
    r = most - (most - r) * scale;
    g = most - (most - g) * scale;
    b = most - (most - b) * scale;
  });
}

// Turns the hue by `turn` of the circle; greatest and least level stay.
void turn_hue(std::uint8_t* rgb, std::int64_t pixels, float turn) {
  for_pixels(rgb, pixels, [turn](float& r, float& g, float& b) {
    const float most = greatest(r, greatest(g, b));
    const float least = smallest(r, smallest(g, b));
    const float spread = most - least;
    const bool is_red = most == r;
    const bool is_green = most == g;
    const float base = is_red ? 0.0F : (is_green ? 2.0F : 4.0F);
    const float part = is_red ? g - b : (is_green ? b - r : r - g);
    // In sixths of the circle, 0 at red.
    float hue = part / greatest(spread, 1.0F) + base + turn * 6;
    hue = hue < 0 ? hue + 6 : hue;
    hue = hue >= 6 ? hue - 6 : hue;
    // Each channel is a trapezium over the circle.
    const auto level = [&](float x) { return least + spread * smallest(greatest(x, 0.0F), 1.0F); };
    r = level(std::abs(hue - 3) - 1);
    g = level(2 - std::abs(hue - 2));
    b = level(2 - std::abs(hue - 4));
  });
}

void cut_out(std::uint8_t* hwc, Size size, int channels, const Draw& draw) {
  constexpr int kGrey = 128;
  const auto side = static_cast<std::int64_t>(
      std::llround(draw.cutout * static_cast<double>(std::min(size.width, size.height))));
  const auto place = [&](double share, std::int64_t whole) {
    return static_cast<std::int64_t>(share * static_cast<double>(whole)) - side / 2;
  };
  const std::int64_t x = place(draw.cutout_at.low, size.width);
  const std::int64_t y = place(draw.cutout_at.high, size.height);
  const std::int64_t left = std::clamp<std::int64_t>(x, 0, size.width);
  const std::int64_t right = std::clamp<std::int64_t>(x + side, 0, size.width);
  for (std::int64_t line = std::max<std::int64_t>(y, 0); line < std::min(y + side, size.height);
       ++line)
    std::memset(hwc + (line * size.width + left) * channels, kGrey,
                static_cast<std::size_t>((right - left) * channels));
}

}  // namespace

void change_colours(std::uint8_t* hwc, Size size, int channels, const Draw& draw) noexcept {
  const std::int64_t pixels = size.width * size.height;
  const std::int64_t count = pixels * channels;
  if (draw.channel_shift != 0) shift_levels(hwc, count, draw.channel_shift);
  if (draw.brightness != 1) {
    // Pillow cuts fractions off.
    const Table table = make_table([&](double x) {
      return static_cast<std::uint8_t>(
          std::min(static_cast<float>(x) * static_cast<float>(draw.brightness), 255.0F));
    });
    for (std::int64_t i = 0; i < count; ++i) hwc[i] = table[hwc[i]];
  }
  if (draw.contrast != 1) change_contrast(hwc, pixels, channels, draw.contrast);
  if (channels == 3 && draw.saturation != 1)
    change_saturation(hwc, pixels, static_cast<float>(draw.saturation));
  if (channels == 3 && draw.hue != 0) turn_hue(hwc, pixels, static_cast<float>(draw.hue));
  if (draw.cutout > 0) cut_out(hwc, size, channels, draw);
}

}  // namespace plimsoll
