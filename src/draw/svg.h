// SVG text, element by element.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::draw {

inline constexpr double kMargin = 24;  // around a chart

// For XML and HTML: the five special characters become entities; what no XML may hold (control
// characters, bytes that are not UTF-8) becomes '?'.
std::string escaped(std::string_view text);

// At most `count` characters; the last is an ellipsis where something was cut. UTF-8 stays whole.
std::string shortened(std::string_view text, std::size_t count);

// About how wide a text is in a sans-serif of `size`: enough to keep things apart, whatever font
// the viewer has.
double text_width(std::string_view text, double size);

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 13;
  Anchor anchor = Anchor::start;
  std::string_view colour = "#222";
  bool bold = false;
  double turned = 0;  // degrees, clockwise, about the text's own point
  bool halo = false;  // a white rim, to be read over lines
};

struct LineStyle {
  std::string_view colour = "#222";
  double width = 1;
  std::string_view dashes = "";  // as in stroke-dasharray; empty: solid
};

// A picture under construction, on white. Coordinates are pixels from the upper left corner; one
// that is not finite is drawn as 0, so that no input can make the file invalid. Texts are escaped
// here; colours and dashes must come from the program.
class Svg {
 public:
  Svg(double width, double height);

  void text(double x, double y, std::string_view words, const TextStyle& style = {});
  void line(double x1, double y1, double x2, double y2, const LineStyle& style = {});
  // `tip` appears under the pointer in a browser.
  void box(double x, double y, double width, double height, std::string_view fill,
           std::string_view tip = "");
  void frame(double x, double y, double width, double height, const LineStyle& style);
  void disc(double x, double y, double radius, std::string_view fill);
  void ring(double x, double y, double radius, const LineStyle& style);
  // `path` as SVG wants it, made of point() below.
  void area(std::string_view path, std::string_view fill);
  void stroke(std::string_view path, const LineStyle& style);
  // What is drawn between these two shows only inside the rectangle.
  void begin_clip(double x, double y, double width, double height);
  void end_clip();

  // The whole file.
  std::string finish() &&;

  // "x,y", for paths.
  static std::string point(double x, double y);

 private:
  std::string text_;
  int clips_ = 0;
};

}  // namespace plimsoll::draw
