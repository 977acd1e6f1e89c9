#include "draw/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll::draw {
namespace {

// Bytes of the UTF-8 character at the front; 0 if it is none that XML may hold.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4) return 0;
  unsigned code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_allowed =
      code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF;
  return is_overlong || !is_allowed ? 0 : length;
}

// Halves of a pixel's tenth do not show.
std::string number(double value) {
  if (!std::isfinite(value)) return "0";
  return fmt::format("{:.1f}", std::fmin(std::fmax(value, -1e6), 1e6));
}

std::string stroke_of(const LineStyle& style) {
  std::string text = fmt::format("stroke=\"{}\"", style.colour);
  if (style.width != 1) text += fmt::format(" stroke-width=\"{}\"", number(style.width));
  if (!style.dashes.empty()) text += fmt::format(" stroke-dasharray=\"{}\"", style.dashes);
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    switch (text.front()) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += length == 0 ? "?" : text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t taken = 0; !text.empty(); ++taken) {
    const std::size_t length = std::max<std::size_t>(1, character_bytes(text));
    if (taken + 1 >= count && text.size() > length) return result + "\u2026";
    result += text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, character_bytes(text));
    const char c = text.front();
    const bool is_narrow = std::string_view("iljtfr.,:;|'!()[] ").find(c) != std::string_view::npos;
    const bool is_wide = length > 1 || (c >= 'A' && c <= 'Z') || c == 'm' || c == 'w' || c == '%';
    width += is_narrow ? 0.36 : is_wide ? 0.78 : 0.6;
    text.remove_prefix(length);
  }
  return width * size;
}

Svg::Svg(double width, double height)
    : text_(fmt::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
          "height=\"{1}\" font-family=\"sans-serif\">\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
          number(width), number(height))) {}

std::string Svg::point(double x, double y) { return number(x) + "," + number(y); }

void Svg::text(double x, double y, std::string_view words, const TextStyle& style) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  const auto add = [&](std::string_view paint) {
    text_ +=
        fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\" {}", number(x),
                    number(y), kAnchors[static_cast<int>(style.anchor)], number(style.size), paint);
    if (style.bold) text_ += " font-weight=\"bold\"";
    if (style.turned != 0)
      text_ += fmt::format(" transform=\"rotate({} {} {})\"", number(style.turned), number(x),
                           number(y));
    text_ += ">" + escaped(words) + "</text>\n";
  };
  // Twice rather than by paint-order, which not every renderer knows.
  if (style.halo)
    add("fill=\"white\" stroke=\"white\" stroke-width=\"4\" stroke-linejoin=\"round\"");
  add(fmt::format("fill=\"{}\"", style.colour));
}

void Svg::line(double x1, double y1, double x2, double y2, const LineStyle& style) {
  text_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", number(x1),
                       number(y1), number(x2), number(y2), stroke_of(style));
}

void Svg::box(double x, double y, double width, double height, std::string_view fill,
              std::string_view tip) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", number(x),
                       number(y), number(width), number(height), fill);
  text_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
}

void Svg::frame(double x, double y, double width, double height, const LineStyle& style) {
  text_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" {}/>\n",
                       number(x), number(y), number(width), number(height), stroke_of(style));
}

void Svg::disc(double x, double y, double radius, std::string_view fill) {
  text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(x), number(y),
                       number(radius), fill);
}

void Svg::ring(double x, double y, double radius, const LineStyle& style) {
  text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" {}/>\n", number(x),
                       number(y), number(radius), stroke_of(style));
}

void Svg::area(std::string_view path, std::string_view fill) {
  text_ += fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path, fill);
}

void Svg::stroke(std::string_view path, const LineStyle& style) {
  text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n", path,
                       stroke_of(style));
}

void Svg::begin_clip(double x, double y, double width, double height) {
  text_ += fmt::format(
      "<clipPath id=\"clip{0}\"><rect x=\"{1}\" y=\"{2}\" width=\"{3}\" "
      "height=\"{4}\"/></clipPath>\n"
      "<g clip-path=\"url(#clip{0})\">\n",
      clips_, number(x), number(y), number(width), number(height));
  ++clips_;
}

void Svg::end_clip() { text_ += "</g>\n"; }

std::string Svg::finish() && { return std::move(text_) + "</svg>\n"; }

}  // namespace plimsoll::draw
