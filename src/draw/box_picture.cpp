#include "draw/box_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "draw/bitmap_font.h"

namespace plimsoll::draw {
namespace {

constexpr std::size_t kLongestLabel = 24;
// From so many boxes on, plates that are much wider than their box lie over no other's.
constexpr std::size_t kCrowd = 10;

// Whole pixels: columns [x0, x1), rows [y0, y1).
struct Area {
  std::int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  std::int64_t width() const { return x1 - x0; }
  std::int64_t height() const { return y1 - y0; }
  double size() const { return static_cast<double>(width()) * static_cast<double>(height()); }
};

double overlap(const Area& a, const Area& b) {
  const std::int64_t width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const std::int64_t height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  return width > 0 && height > 0 ? static_cast<double>(width) * static_cast<double>(height) : 0;
}

// The pixels that a box covers of a picture.
std::optional<Area> area_of(const DrawnBox& box, const PixelView& picture) {
  for (const double corner : {box.x0, box.y0, box.x1, box.y1})
    if (!std::isfinite(corner)) return std::nullopt;
  const auto whole = [](double value, std::int64_t most) {
    return static_cast<std::int64_t>(std::clamp(value, 0.0, static_cast<double>(most)));
  };
  const Area area{.x0 = whole(std::floor(box.x0), picture.width),
                  .y0 = whole(std::floor(box.y0), picture.height),
                  .x1 = whole(std::ceil(box.x1), picture.width),
                  .y1 = whole(std::ceil(box.y1), picture.height)};
  if (area.width() <= 0 || area.height() <= 0) return std::nullopt;
  return area;
}

void fill(const PixelView& picture, const Area& area, Rgb colour) {
  for (std::int64_t y = std::max<std::int64_t>(0, area.y0); y < std::min(area.y1, picture.height);
       ++y)
    for (std::int64_t x = std::max<std::int64_t>(0, area.x0); x < std::min(area.x1, picture.width);
         ++x) {
      std::uint8_t* pixel = picture.at(x, y);
      pixel[0] = colour.red;
      pixel[1] = colour.green;
      pixel[2] = colour.blue;
    }
}

void draw_frame(const PixelView& picture, const Area& box, std::int64_t line, Rgb colour) {
  const std::int64_t across = std::min(line, box.width());
  const std::int64_t down = std::min(line, box.height());
  fill(picture, {box.x0, box.y0, box.x1, box.y0 + down}, colour);
  fill(picture, {box.x0, box.y1 - down, box.x1, box.y1}, colour);
  fill(picture, {box.x0, box.y0, box.x0 + across, box.y1}, colour);
  fill(picture, {box.x1 - across, box.y0, box.x1, box.y1}, colour);
}

// A name in the font's letters: one '?' for a character that it has not.
std::string written(const std::string& name) {
  std::string text;
  for (const char c : name)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) text += c >= ' ' && c <= '~' ? c : '?';
  return text.size() <= kLongestLabel ? text : text.substr(0, kLongestLabel - 2) + "..";
}

// Finds a place for one plate after the other.
class Plates {
 public:
  Plates(const PixelView& picture, const BoxStyle& style, std::vector<std::optional<Area>> boxes)
      : picture_(picture), style_(style), margin_(style.letter), boxes_(std::move(boxes)) {}

  void draw(std::size_t i, const DrawnBox& box) {
    const std::string name = written(box.name);
    if (box.score >= 0) {
      const std::string whole = fmt::format("{}{}{:.2f}", name, name.empty() ? "" : " ", box.score);
      const bool is_too_wide =
          boxes_.size() >= kCrowd && 2 * width_of(whole) > 3 * boxes_[i]->width();
      if (draw_if(i, box, whole, {.hidden = 0, .over = is_too_wide ? 0.0 : 1e9})) return;
    }
    if (!name.empty()) draw_if(i, box, name, {.hidden = 0.2, .over = 1e9});
  }

 private:
  // Shares of a plate over other plates, and over others' boxes.
  struct Cover {
    double hidden = 0;
    double over = 0;
  };
  struct Place {
    Area area;
    Cover cover = {};
    double cost = 0;
  };

  std::int64_t width_of(const std::string& text) const {
    const auto letters = static_cast<std::int64_t>(text.size());
    return (letters * kGlyphAdvance - 1) * style_.letter + 2 * margin_;
  }

  // Within the picture, unless it is smaller than the plate.
  Area inside(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) const {
    const std::int64_t x0 = std::max<std::int64_t>(0, std::min(x, picture_.width - width));
    const std::int64_t y0 = std::max<std::int64_t>(0, std::min(y, picture_.height - height));
    return {x0, y0, x0 + width, y0 + height};
  }

  Place judged(const Area& area, std::size_t own, double preference) const {
    Place place{.area = area, .cost = preference};
    for (const Area& plate : placed_) place.cover.hidden += overlap(area, plate) / area.size();
    place.cost += 8 * place.cover.hidden;
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
      if (!boxes_[b]) continue;
      const double covered = overlap(area, *boxes_[b]);
      // Over a small thing it hides the thing; over another's box it seems to be its name.
      place.cost += (b == own ? 1 : 1.5) * covered / boxes_[b]->size();
      if (b != own) place.cover.over += covered / area.size();
    }
    place.cost += 0.3 * place.cover.over;
    return place;
  }

  bool draw_if(std::size_t i, const DrawnBox& box, const std::string& text, const Cover& most) {
    const Area& own = *boxes_[i];
    const std::int64_t width = width_of(text);
    const std::int64_t height = kGlyphHeight * style_.letter + 2 * margin_;
    const std::int64_t right = own.x1 - width;
    const std::int64_t bottom = own.y1 - height;
    const std::array<Area, 8> places{
        inside(own.x0, own.y0 - height, width, height), inside(own.x0, own.y0, width, height),
        inside(right, own.y0 - height, width, height),  inside(right, own.y0, width, height),
        inside(own.x0, own.y1, width, height),          inside(own.x0, bottom, width, height),
        inside(right, own.y1, width, height),           inside(right, bottom, width, height)};
    std::optional<Place> best;
    for (std::size_t p = 0; p < places.size(); ++p) {
      const Place place = judged(places[p], i, 0.04 * static_cast<double>(p));
      if (!best || place.cost < best->cost) best = place;
    }
    if (best->cover.hidden > most.hidden || best->cover.over > most.over) return false;
    const Rgb colour = class_colour(box.label);
    fill(picture_, best->area, colour);
    write(best->area, text, ink_on(colour));
    placed_.push_back(best->area);
    return true;
  }

  void write(const Area& plate, const std::string& text, Rgb ink) const {
    std::int64_t x = plate.x0 + margin_;
    for (const char letter : text) {
      for (std::int64_t row = 0; row < kGlyphHeight; ++row)
        for (std::int64_t column = 0; column < kGlyphWidth; ++column)
          if (glyph_pixel(letter, column, row)) {
            const std::int64_t left = x + column * style_.letter;
            const std::int64_t top = plate.y0 + margin_ + row * style_.letter;
            fill(picture_, {left, top, left + style_.letter, top + style_.letter}, ink);
          }
      x += kGlyphAdvance * style_.letter;
    }
  }

  PixelView picture_;
  BoxStyle style_;
  std::int64_t margin_;
  std::vector<std::optional<Area>> boxes_;
  std::vector<Area> placed_;
};

}  // namespace

BoxStyle box_style(std::int64_t width, std::int64_t height) {
  const auto shorter = static_cast<double>(std::min(width, height));
  const auto at_least = [](std::int64_t least, double value) {
    return std::max(least, static_cast<std::int64_t>(std::lround(value)));
  };
  return {.line = at_least(shorter < 150 ? 1 : 2, shorter / 240),
          .letter = at_least(1, shorter / 320)};
}

void draw_boxes(const PixelView& picture, std::span<const DrawnBox> boxes, const BoxStyle& style) {
  std::vector<std::optional<Area>> areas;
  for (const DrawnBox& box : boxes) areas.push_back(area_of(box, picture));
  for (std::size_t i = boxes.size(); i-- > 0;)
    if (areas[i]) draw_frame(picture, *areas[i], style.line, class_colour(boxes[i].label));
  Plates plates(picture, style, areas);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (areas[i]) plates.draw(i, boxes[i]);
}

}  // namespace plimsoll::draw
