#include "draw/confusion_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "draw/svg.h"

namespace plimsoll::draw {
namespace {

constexpr std::size_t kMostNumbers = 25;
constexpr std::size_t kLongestName = 24;
constexpr double kHead = 76;  // title and findings
constexpr double kBar = 26;   // width of a full bar of the recalls

// White to a dark blue. By the square root: one confusion in a hundred is to be seen.
std::string colour_of(double share) {
  const double depth = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto mix = [&](int dark) {
    return static_cast<int>(std::lround(255 + (dark - 255) * depth));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(16), mix(78), mix(139));
}

struct Confusion {
  std::span<const std::string> names;
  std::span<const std::int64_t> counts;
  std::size_t classes = 0;
  std::vector<std::int64_t> of_truth;  // images of each true class
  std::int64_t all = 0, right = 0;

  std::int64_t at(std::size_t truth, std::size_t predicted) const {
    return counts[truth * classes + predicted];
  }
  double share(std::size_t truth, std::size_t predicted) const {
    return of_truth[truth] == 0
               ? 0
               : static_cast<double>(at(truth, predicted)) / static_cast<double>(of_truth[truth]);
  }
};

Confusion summed(std::span<const std::string> names, std::span<const std::int64_t> counts) {
  Confusion confusion{.names = names, .counts = counts, .classes = names.size()};
  for (std::size_t t = 0; t < names.size(); ++t) {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < names.size(); ++p) sum += confusion.at(t, p);
    confusion.of_truth.push_back(sum);
    confusion.all += sum;
    confusion.right += confusion.at(t, t);
  }
  return confusion;
}

std::string findings(const Confusion& confusion) {
  if (confusion.all == 0) return "no images were counted";
  struct Pair {
    std::int64_t count;
    std::size_t truth, predicted;
  };
  std::vector<Pair> pairs;
  for (std::size_t t = 0; t < confusion.classes; ++t)
    for (std::size_t p = 0; p < confusion.classes; ++p)
      if (t != p && confusion.at(t, p) > 0) pairs.push_back({confusion.at(t, p), t, p});
  std::ranges::stable_sort(pairs, std::ranges::greater{}, &Pair::count);
  std::string text =
      fmt::format("{} of {} right ({:.1f} %)", confusion.right, confusion.all,
                  100 * static_cast<double>(confusion.right) / static_cast<double>(confusion.all));
  for (std::size_t i = 0; i < std::min<std::size_t>(2, pairs.size()); ++i)
    text +=
        fmt::format("{}{} taken for {} {} times", i == 0 ? "; most often " : ", ",
                    shortened(confusion.names[pairs[i].truth], kLongestName),
                    shortened(confusion.names[pairs[i].predicted], kLongestName), pairs[i].count);
  return text;
}

// A scale of the colours, below the map.
void draw_key(Svg& svg, double left, double top) {
  svg.text(left, top + 11, "share of the true class:", {.size = 12});
  constexpr double kStep = 22;
  for (int i = 0; i <= 10; ++i)
    svg.box(left + 150 + i * kStep, top, kStep, 14, colour_of(i / 10.0));
  svg.frame(left + 150, top, 11 * kStep, 14, {.colour = "#bbb"});
  svg.text(left + 150, top + 28, "0 %", {.size = 11});
  svg.text(left + 150 + 11 * kStep, top + 28, "100 %", {.size = 11, .anchor = Anchor::end});
}

}  // namespace

std::string confusion_chart_svg(std::string_view title, std::span<const std::string> names,
                                std::span<const std::int64_t> counts) {
  expect(counts.size() == names.size() * names.size(), "a confusion matrix is square");
  const Confusion confusion = summed(names, counts);
  const std::size_t classes = confusion.classes;
  const double cell =
      std::clamp(680.0 / static_cast<double>(std::max<std::size_t>(1, classes)), 9.0, 64.0);
  const double size = std::clamp(cell * 0.8, 7.5, 13.0);
  const bool has_numbers = classes <= kMostNumbers;
  double longest = 40;
  for (const std::string& name : names)
    longest = std::max(longest, text_width(shortened(name, kLongestName), size));
  // Names that fit stand level above their columns; others stand upright.
  const bool is_level = longest + 6 <= cell;
  const double left = kMargin + 22 + longest + 8;
  const double top = kHead + 26 + (is_level ? size + 4 : longest + 8);
  const double side = cell * static_cast<double>(classes);
  const std::string words = findings(confusion);
  const double width = std::max({left + side + 14 + kBar + 48 + kMargin,
                                 kMargin + text_width(words, 13) + kMargin, left + 420});
  Svg svg(width, top + side + 74);
  svg.text(kMargin, 30, title, {.size = 18, .bold = true});
  svg.text(kMargin, 54, words, {.colour = "#444"});
  svg.text(left + side / 2, kHead + 12, "predicted as",
           {.size = 14, .anchor = Anchor::middle, .bold = true});
  svg.text(kMargin + 10, top + side / 2, "truth",
           {.size = 14, .anchor = Anchor::middle, .bold = true, .turned = -90});
  svg.text(left + side + 14, top - 6, "recall", {.size = 12, .colour = "#444"});
  for (std::size_t t = 0; t < classes; ++t) {
    const double y = top + cell * static_cast<double>(t);
    const double middle = y + cell / 2;
    const std::string name = shortened(names[t], kLongestName);
    svg.text(left - 6, middle + size * 0.36, name, {.size = size, .anchor = Anchor::end});
    const double along = left + cell * (static_cast<double>(t) + 0.5);
    if (is_level)
      svg.text(along, top - 6, name, {.size = size, .anchor = Anchor::middle});
    else
      svg.text(along + size * 0.36, top - 6, name, {.size = size, .turned = -90});
    for (std::size_t p = 0; p < classes; ++p) {
      const std::int64_t count = confusion.at(t, p);
      const double x = left + cell * static_cast<double>(p);
      if (count > 0)
        svg.box(x, y, cell, cell, colour_of(confusion.share(t, p)),
                fmt::format("{} predicted as {}: {} ({:.1f} %)", names[t], names[p], count,
                            100 * confusion.share(t, p)));
      if (has_numbers)
        svg.text(x + cell / 2, middle + size * 0.36, fmt::format("{}", count),
                 {.size = std::min(
                      size, 2.0 * cell / static_cast<double>(2 + fmt::formatted_size("{}", count))),
                  .anchor = Anchor::middle,
                  .colour = count == 0                    ? "#bbb"
                            : confusion.share(t, p) > 0.3 ? "white"
                                                          : "#222"});
    }
    if (confusion.of_truth[t] == 0) continue;
    svg.box(left + side + 14, y + cell * 0.2, kBar * confusion.share(t, t), cell * 0.6, "#5b8db8");
    svg.text(left + side + 14 + kBar + 4, middle + size * 0.36,
             fmt::format("{:.0f} %", 100 * confusion.share(t, t)),
             {.size = std::min(size, 12.0), .colour = "#444"});
  }
  const double step = classes > 50 ? 10 : classes > kMostNumbers ? 5 : 1;
  for (double i = 0; i <= static_cast<double>(classes); i += step) {
    svg.line(left + cell * i, top, left + cell * i, top + side, {.colour = "#d8d8d8"});
    svg.line(left, top + cell * i, left + side, top + cell * i, {.colour = "#d8d8d8"});
  }
  svg.frame(left, top, side, side, {.colour = "#999"});
  draw_key(svg, left, top + side + 24);
  return std::move(svg).finish();
}

}  // namespace plimsoll::draw
