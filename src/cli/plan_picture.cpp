#include "cli/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"

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

std::string text_at(double x, double y, std::string_view anchor, int size, std::string_view words,
                    std::string_view more = "") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" {}>{}</text>\n", x, y,
      anchor, size, more, words);
}

std::string line_from(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

// A round step that gives about five marks.
double round_step(double most) {
  double step = 1024.0 * 1024;
  while (most / step > 6) step *= 2;
  return step;
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
  const auto x_of = [&](double step) {
    return kLeft + kWidth * step / static_cast<double>(std::max<std::size_t>(1, tops.size()));
  };
  const auto y_of = [&](double bytes) { return kBottom - kHeight * bytes / most; };

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kRight + 40, kBottom + 110);
  svg += text_at(kLeft, 28, "start", 18, picture.title, "font-weight=\"bold\"");
  svg += text_at(kLeft, 50, "start", 13,
                 fmt::format("memory of the process during one training step; predicted peak {}{}",
                             to_string(Bytes{picture.total_bytes}),
                             limited ? ", budget " + to_string(Bytes{picture.budget_bytes}) : ""),
                 "fill=\"#444\"");
  for (double bytes = 0; bytes <= most; bytes += round_step(most)) {
    svg += line_from(kLeft, y_of(bytes), kRight, y_of(bytes), "stroke=\"#e4e4e4\"");
    svg += text_at(kLeft - 8, y_of(bytes) + 4, "end", 12,
                   bytes == 0 ? "0" : to_string(Bytes{static_cast<std::int64_t>(bytes)}));
  }
  for (std::size_t b = 0; b < kBandCount; ++b) {
    std::string path = fmt::format("M{:.1f},{:.1f}", x_of(0), y_of(b == 0 ? 0 : tops[0][b - 1]));
    for (std::size_t s = 0; s < tops.size(); ++s)
      path += fmt::format("L{:.1f},{:.1f}L{:.1f},{:.1f}", x_of(static_cast<double>(s)),
                          y_of(tops[s][b]), x_of(static_cast<double>(s + 1)), y_of(tops[s][b]));
    for (std::size_t s = tops.size(); s-- > 0;) {
      const double low = y_of(b == 0 ? 0 : tops[s][b - 1]);
      path += fmt::format("L{:.1f},{:.1f}L{:.1f},{:.1f}", x_of(static_cast<double>(s + 1)), low,
                          x_of(static_cast<double>(s)), low);
    }
    svg += fmt::format("<path d=\"{}Z\" fill=\"{}\"/>\n", path, kBands[b].colour);
  }
  const double turn = x_of(static_cast<double>(usage.backward_begin));
  svg += line_from(turn, kTop, turn, kBottom, "stroke=\"#222\" stroke-dasharray=\"2 4\"");
  svg +=
      text_at((kLeft + turn) / 2, kBottom + 18, "middle", 13, "forward: layers from first to last");
  svg += text_at((turn + kRight) / 2, kBottom + 18, "middle", 13,
                 "backward: layers from last to first, then updates");
  if (draws_budget) {
    const double y = y_of(static_cast<double>(picture.budget_bytes));
    svg += line_from(kLeft, y, kRight, y,
                     "stroke=\"#c00\" stroke-width=\"2\" stroke-dasharray=\"8 4\"");
    svg += text_at(kRight, y - 6, "end", 13, "budget " + to_string(Bytes{picture.budget_bytes}),
                   "fill=\"#c00\"");
  }
  const double peak_x = x_of(static_cast<double>(usage.peak_step) + 0.5);
  const double peak_y = y_of(tops[usage.peak_step][kBandCount - 1]);
  svg +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"none\" stroke=\"#000\"/>\n",
                  peak_x, peak_y);
  const bool right_half = peak_x > (kLeft + kRight) / 2;
  svg += text_at(peak_x + (right_half ? -10 : 10), peak_y - 8, right_half ? "end" : "start", 12,
                 "fullest: " + usage.step_names[usage.peak_step],
                 "paint-order=\"stroke\" stroke=\"white\" stroke-width=\"4\"");
  for (std::size_t b = 0; b < kBandCount; ++b) {
    const double x = kLeft + static_cast<double>(b % 4) * 225;
    const double y = kBottom + 42 + static_cast<double>(b / 4) * 24;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n",
                       x, y, kBands[b].colour);
    svg += text_at(x + 20, y + 12, "start", 13, kBands[b].name);
  }
  return svg + "</svg>\n";
}

}  // namespace plimsoll::cli
