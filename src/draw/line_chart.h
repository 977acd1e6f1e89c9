// Lines over one x axis, in panels one above the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "draw/axis.h"

namespace plimsoll::draw {

struct Point {
  double x = 0;
  double y = 0;  // NaN: the line has a gap here
};

struct Series {
  std::string name;  // in the legend; empty: not listed there
  std::vector<Point> points;
  bool dashed = false;
  bool dots = false;             // a dot at every point; a point without neighbours always has one
  bool line = true;              // false: dots alone
  std::string_view colour = {};  // empty: the next of the palette
};

// A value that is named: a line across the panel, its name beside the plot, never over it.
struct Mark {
  std::string name;
  double at = 0;
  std::string_view colour = "#c00";
};

struct Panel {
  std::string title;  // what y is, with its unit
  Scale scale = Scale::linear;
  std::vector<Series> series;
  std::vector<Mark> horizontal;
  std::vector<Mark> vertical;
  std::optional<double> low;  // where y begins; else the least value. Lines are cut at the ends
  std::optional<double> high;
  double height = 240;
};

struct LineChart {
  std::string title;
  std::string subtitle;  // the finding in words; may be empty
  std::string x_name;
  Scale x_scale = Scale::linear;
  std::vector<Panel> panels;
};

// Values that the scale cannot show (NaN, infinities, 0 on a logarithm) are gaps. A panel without
// any value says so. Long series are thinned to what the width can show, keeping every extreme.
std::string line_chart_svg(const LineChart& chart);

}  // namespace plimsoll::draw
