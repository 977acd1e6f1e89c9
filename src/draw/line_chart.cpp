#include "draw/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/palette.h"

namespace plimsoll::draw {
namespace {

constexpr double kLeft = 92, kPlotWidth = 820, kRight = kLeft + kPlotWidth;
constexpr double kLegendRow = 20, kMarkRow = 18;
constexpr double kAxisRoom = 56;  // labels and name of the x axis
constexpr double kLabelDistance = 15;
constexpr std::size_t kThinAbove = 2 * static_cast<std::size_t>(kPlotWidth);

std::string_view colour_of(const Panel& panel, std::size_t s) {
  return panel.series[s].colour.empty() ? palette(s) : panel.series[s].colour;
}

struct LegendEntry {
  std::size_t series;
  double x, row;
};

std::vector<LegendEntry> place_legend(const Panel& panel) {
  std::vector<LegendEntry> entries;
  double x = kLeft, row = 0;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    if (panel.series[s].name.empty()) continue;
    const double width = 34 + text_width(panel.series[s].name, 13) + 24;
    if (x > kLeft && x + width > kRight) {
      x = kLeft;
      ++row;
    }
    entries.push_back({s, x, row});
    x += width;
  }
  return entries;
}

// First, least, greatest and last of every pixel column, so that no peak is lost.
std::vector<Point> thinned(const std::vector<Point>& points, const Axis& x) {
  if (points.size() <= kThinAbove) return points;
  std::vector<Point> kept;
  for (std::size_t begin = 0; begin < points.size();) {
    const auto column = [&](std::size_t i) {
      return x.has_place(points[i].x) ? std::floor(x.at(points[i].x)) : NAN;
    };
    const auto is_gap = [&](std::size_t i) { return !std::isfinite(points[i].y); };
    std::size_t end = begin + 1;
    while (end < points.size() && column(end) == column(begin) && is_gap(end) == is_gap(begin))
      ++end;
    std::size_t least = begin, greatest = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (points[i].y < points[least].y) least = i;
      if (points[i].y > points[greatest].y) greatest = i;
    }
    std::array<std::size_t, 4> chosen = {begin, least, greatest, end - 1};
    std::ranges::sort(chosen);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      if (k == 0 || chosen[k] != chosen[k - 1]) kept.push_back(points[chosen[k]]);
    begin = end;
  }
  return kept;
}

void draw_series(Svg& svg, const Series& series, std::string_view colour, const Axis& x,
                 const Axis& y) {
  const std::vector<Point> points = thinned(series.points, x);
  const auto has_place = [&](std::size_t i) {
    return i < points.size() && x.has_place(points[i].x) && y.has_place(points[i].y);
  };
  std::string path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!has_place(i)) continue;
    const double px = x.at(points[i].x), py = y.at(points[i].y);
    const bool begins = i == 0 || !has_place(i - 1);
    path += (begins ? "M" : "L") + Svg::point(px, py);
    if (series.dots || !series.line || (begins && !has_place(i + 1)))
      svg.disc(px, py, series.line ? 2.8 : 1.8, colour);
  }
  if (series.line && !path.empty())
    svg.stroke(path, {.colour = colour, .width = 2, .dashes = series.dashed ? "7 4" : ""});
}

// Names beside the plot, moved apart where their lines are close.
void draw_horizontal_marks(Svg& svg, const std::vector<Mark>& marks, const Axis& y) {
  struct Label {
    const Mark* mark;
    double line, text;
  };
  std::vector<Label> labels;
  for (const Mark& mark : marks)
    if (y.has_place(mark.at) && mark.at >= y.low() && mark.at <= y.high())
      labels.push_back({&mark, y.at(mark.at), y.at(mark.at)});
  std::ranges::sort(labels, {}, &Label::line);
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].text = std::max(labels[i].text, labels[i - 1].text + kLabelDistance);
  for (const Label& label : labels) {
    svg.line(kLeft, label.line, kRight, label.line,
             {.colour = label.mark->colour, .width = 1.6, .dashes = "8 4"});
    svg.line(kRight, label.line, kRight + 8, label.text, {.colour = label.mark->colour});
    svg.text(kRight + 11, label.text + 4, label.mark->name, {.colour = label.mark->colour});
  }
}

void draw_vertical_marks(Svg& svg, const std::vector<Mark>& marks, const Axis& x, double top,
                         double bottom) {
  for (const Mark& mark : marks) {
    if (!x.has_place(mark.at) || mark.at < x.low() || mark.at > x.high()) continue;
    const double at = x.at(mark.at);
    const double half = text_width(mark.name, 13) / 2;
    svg.line(at, top, at, bottom, {.colour = mark.colour, .width = 1.6, .dashes = "8 4"});
    svg.text(std::clamp(at, kLeft + half, kRight - half), top - 5, mark.name,
             {.anchor = Anchor::middle, .colour = mark.colour});
  }
}

Extent extent_of_y(const Panel& panel) {
  Extent extent(panel.scale);
  for (const Series& series : panel.series)
    for (const Point& point : series.points) extent.add(point.y);
  return extent;
}

Axis make_y_axis(const Panel& panel, double top, double bottom) {
  Extent extent = extent_of_y(panel);
  if (extent.empty() && panel.low && panel.high) extent.add(*panel.high);
  for (const Mark& mark : panel.horizontal) extent.add(mark.at);
  double low = panel.low.value_or(extent.low());
  double high = panel.high.value_or(extent.high());
  if (panel.scale == Scale::logarithmic) {
    low = panel.low.value_or(low / 1.2);
    high = panel.high.value_or(high * 1.2);
  } else {
    const double room = (high - low) * 0.06;
    if (!panel.low) low -= low >= 0 && low < room ? low : room;
    if (!panel.high) high += room;
  }
  return {panel.scale, low, high, bottom, top};
}

double head_height(const Panel& panel) {
  const std::vector<LegendEntry> legend = place_legend(panel);
  const double rows = legend.empty() ? 0 : legend.back().row + 1;
  return 24 + rows * kLegendRow + (panel.vertical.empty() ? 0 : kMarkRow) + 4;
}

void draw_panel(Svg& svg, const Panel& panel, const Axis& x, double head, bool is_last) {
  svg.text(kLeft, head + 16, panel.title, {.size = 14, .bold = true});
  for (const LegendEntry& entry : place_legend(panel)) {
    const Series& series = panel.series[entry.series];
    const double y = head + 24 + entry.row * kLegendRow + 10;
    if (series.line)
      svg.line(entry.x, y, entry.x + 28, y,
               {.colour = colour_of(panel, entry.series),
                .width = 2,
                .dashes = series.dashed ? "7 4" : ""});
    if (series.dots || !series.line) svg.disc(entry.x + 14, y, 2.8, colour_of(panel, entry.series));
    svg.text(entry.x + 34, y + 4, series.name);
  }
  const double top = head + head_height(panel), bottom = top + panel.height;
  const Axis y = make_y_axis(panel, top, bottom);
  draw_horizontal_axis(svg, x, top, bottom, is_last);
  draw_vertical_axis(svg, y, kLeft, kRight);
  svg.frame(kLeft, top, kPlotWidth, panel.height, {.colour = "#999"});
  if (extent_of_y(panel).empty())
    svg.text((kLeft + kRight) / 2, (top + bottom) / 2, "no values yet",
             {.anchor = Anchor::middle, .colour = "#888"});
  // A little wider than the plot: dots at the ends stay whole.
  svg.begin_clip(kLeft - 3, top - 3, kPlotWidth + 6, panel.height + 6);
  for (std::size_t s = 0; s < panel.series.size(); ++s)
    draw_series(svg, panel.series[s], colour_of(panel, s), x, y);
  svg.end_clip();
  draw_horizontal_marks(svg, panel.horizontal, y);
  draw_vertical_marks(svg, panel.vertical, x, top, bottom);
}

}  // namespace

std::string line_chart_svg(const LineChart& chart) {
  const double title_bottom = chart.subtitle.empty() ? 44 : 62;
  double height = title_bottom;
  double right = kRight + kMargin;
  Extent x_extent(chart.x_scale);
  for (const Panel& panel : chart.panels) {
    height += head_height(panel) + panel.height + 18;
    for (const Mark& mark : panel.horizontal)
      right = std::max(right, kRight + 11 + text_width(mark.name, 13) + 8);
    for (const Series& series : panel.series)
      for (const Point& point : series.points) x_extent.add(point.x);
  }
  Svg svg(right, height + kAxisRoom - 18);
  svg.text(kLeft, 28, chart.title, {.size = 18, .bold = true});
  svg.text(kLeft, 50, chart.subtitle, {.colour = "#444"});
  const Axis x(chart.x_scale, x_extent.low(), x_extent.high(), kLeft, kRight);
  double head = title_bottom;
  for (const Panel& panel : chart.panels) {
    draw_panel(svg, panel, x, head, &panel == &chart.panels.back());
    head += head_height(panel) + panel.height + 18;
  }
  svg.text((kLeft + kRight) / 2, head - 18 + 40, chart.x_name, {.anchor = Anchor::middle});
  return std::move(svg).finish();
}

}  // namespace plimsoll::draw
