#include "cli/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "draw/axis.h"
#include "draw/svg.h"

namespace plimsoll::cli {
namespace {

constexpr double kLeft = 90, kTop = 70, kWidth = 900, kHeight = 420;
constexpr double kRight = kLeft + kWidth, kBottom = kTop + kHeight;

struct Band {
  std::string_view name;
  std::string_view colour;
};
// Bottom to top; the last six are kUses in order of how long they stay.
constexpr Band kBands[] = {
    {"code, data, buffers", "#b8b8b8"},  {"weights and optimizer", "#5b6770"},
    {"gradients of weights", "#8e6bbf"}, {"kept for backward", "#2f7ebc"},
    {"kept in 16 bits", "#79b7e0"},      {"batch", "#7fbf7b"},
    {"in use right now", "#f2a541"},     {"kernel scratch", "#d95f4c"}};
constexpr std::size_t kBandCount = std::size(kBands);

std::vector<std::array<double, kBandCount>> stack(const Usage& usage, const PlanPicture& picture) {
  std::vector<std::array<double, kBandCount>> tops;
  for (const auto& step : usage.steps) {
    const auto used = [&](Use use) {
      return static_cast<double>(step[static_cast<std::size_t>(use)]);
    };
    const double parts[] = {static_cast<double>(picture.beside_bytes),
                            static_cast<double>(picture.resident_bytes),
                            used(Use::gradient),
                            used(Use::kept),
                            used(Use::half),
                            used(Use::input),
                            used(Use::working),
                            used(Use::scratch)};
    std::array<double, kBandCount> top{};
    double sum = 0;
    for (std::size_t b = 0; b < kBandCount; ++b) top[b] = sum += parts[b];
    tops.push_back(top);
  }
  return tops;
}

// The band from the top of the one below to its own top, as a path.
template <typename Place>
std::string band_path(const std::vector<std::array<double, kBandCount>>& tops, std::size_t band,
                      const Place& x_of, const draw::Axis& y) {
  const auto low = [&](std::size_t s) { return y.at(band == 0 ? 0 : tops[s][band - 1]); };
  std::string path = tops.empty() ? "M0,0" : "M" + draw::Svg::point(x_of(0), low(0));
  for (std::size_t s = 0; s < tops.size(); ++s)
    path += "L" + draw::Svg::point(x_of(s), y.at(tops[s][band])) + "L" +
            draw::Svg::point(x_of(s + 1), y.at(tops[s][band]));
  for (std::size_t s = tops.size(); s-- > 0;)
    path += "L" + draw::Svg::point(x_of(s + 1), low(s)) + "L" + draw::Svg::point(x_of(s), low(s));
  return path + "Z";
}

void draw_legend(draw::Svg& svg) {
  for (std::size_t b = 0; b < kBandCount; ++b) {
    const std::size_t row = b / 4, column = b % 4;
    const double x = kLeft + static_cast<double>(column) * 225;
    const double y = kBottom + 42 + static_cast<double>(row) * 24;
    svg.box(x, y, 14, 14, kBands[b].colour);
    svg.text(x + 20, y + 12, kBands[b].name);
  }
}

}  // namespace

std::string plan_svg(const Usage& usage, const PlanPicture& picture) {
  const auto tops = stack(usage, picture);
  const bool limited = picture.budget_bytes != kUnlimited.count;
  const auto total = static_cast<double>(picture.total_bytes);
  // A budget far above the plan would press the picture flat; it is then only named.
  const bool draws_budget = limited && static_cast<double>(picture.budget_bytes) < 1.6 * total;
  const double most =
      1.06 * std::max(total, draws_budget ? static_cast<double>(picture.budget_bytes) : 0.0);
  const auto x_of = [&](auto step) {
    return kLeft + kWidth * static_cast<double>(step) /
                       static_cast<double>(std::max<std::size_t>(1, tops.size()));
  };
  const draw::Axis y(draw::Scale::bytes, 0, most, kBottom, kTop);

  draw::Svg svg(kRight + 40, kBottom + 110);
  svg.text(kLeft, 28, picture.title, {.size = 18, .bold = true});
  svg.text(kLeft, 50,
           fmt::format("memory of the process during one training step; predicted peak {}{}",
                       to_string(Bytes{picture.total_bytes}),
                       limited ? ", budget " + to_string(Bytes{picture.budget_bytes}) : ""),
           {.colour = "#444"});
  draw_vertical_axis(svg, y, kLeft, kRight);
  for (std::size_t b = 0; b < kBandCount; ++b)
    svg.area(band_path(tops, b, x_of, y), kBands[b].colour);
  const double turn = x_of(usage.backward_begin);
  svg.line(turn, kTop, turn, kBottom, {.dashes = "2 4"});
  svg.text((kLeft + turn) / 2, kBottom + 18, "forward: layers from first to last",
           {.anchor = draw::Anchor::middle});
  svg.text((turn + kRight) / 2, kBottom + 18, "backward: layers from last to first, then updates",
           {.anchor = draw::Anchor::middle});
  if (draws_budget) {
    const double at = y.at(static_cast<double>(picture.budget_bytes));
    svg.line(kLeft, at, kRight, at, {.colour = "#c00", .width = 2, .dashes = "8 4"});
    svg.text(kRight, at - 6, "budget " + to_string(Bytes{picture.budget_bytes}),
             {.anchor = draw::Anchor::end, .colour = "#c00"});
  }
  const double peak_x = x_of(static_cast<double>(usage.peak_step) + 0.5);
  const double peak_y = y.at(tops[usage.peak_step][kBandCount - 1]);
  svg.ring(peak_x, peak_y, 5, {.colour = "#000"});
  const bool right_half = peak_x > (kLeft + kRight) / 2;
  svg.text(
      peak_x + (right_half ? -10 : 10), peak_y - 8, "fullest: " + usage.step_names[usage.peak_step],
      {.size = 12, .anchor = right_half ? draw::Anchor::end : draw::Anchor::start, .halo = true});
  draw_legend(svg);
  return std::move(svg).finish();
}

}  // namespace plimsoll::cli
