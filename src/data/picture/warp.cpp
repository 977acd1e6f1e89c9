#include "data/picture/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/bilinear.h"

namespace plimsoll {
namespace {

using kernels::Line;
using kernels::Run;

struct Matrix {
  double a = 1, b = 0, c = 0, d = 1;  // rows (a b), (c d), acting on (x, y)

  Matrix operator*(const Matrix& o) const {
    return {a * o.a + b * o.c, a * o.b + b * o.d, c * o.a + d * o.c, c * o.b + d * o.d};
  }
};

// Which pixels one axis reads at a coordinate, and the share of the second.
struct Pair {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double share = 0;
  bool is_outside = false;  // for constant
};

std::int64_t reflect(std::int64_t i, std::int64_t size) {
  const std::int64_t period = 2 * size;
  i = ((i % period) + period) % period;
  return i < size ? i : period - 1 - i;
}

Pair pair_at(double at, std::int64_t size, FillMode fill) {
  const auto last = static_cast<double>(size - 1);
  if (fill == FillMode::constant && (at < 0 || at > last)) return {.is_outside = true};
  if (fill == FillMode::nearest) at = std::clamp(at, 0.0, last);
  // scipy's "wrap" lets the last pixel stand for the first: its period is one less than the size.
  if (fill == FillMode::wrap && (at < 0 || at > last))
    at = size == 1 ? 0 : at - last * std::floor(at / last);
  const double whole = std::floor(at);
  const auto first = static_cast<std::int64_t>(whole);
  if (fill == FillMode::reflect)
    return {reflect(first, size), reflect(first + 1, size), at - whole};
  return {std::clamp<std::int64_t>(first, 0, size - 1),
          std::clamp<std::int64_t>(first + 1, 0, size - 1), at - whole};
}

// A pixel anywhere, by the rules of the fill mode.
void put_any(const std::uint8_t* from, Size size, int channels, double x, double y, FillMode fill,
             double cval, std::uint8_t* out) {
  const Pair px = pair_at(x, size.width, fill);
  const Pair py = pair_at(y, size.height, fill);
  for (int c = 0; c < channels; ++c) {
    if (px.is_outside || py.is_outside) {
      out[c] = round_level(cval);
      continue;
    }
    const auto value = [&](std::int64_t row, std::int64_t column) {
      return static_cast<double>(from[(row * size.width + column) * channels + c]);
    };
    const double top = std::lerp(value(py.first, px.first), value(py.first, px.second), px.share);
    const double low = std::lerp(value(py.second, px.first), value(py.second, px.second), px.share);
    out[c] = round_level(std::lerp(top, low, py.share));
  }
}

// The pixels that lie between four others. They are one run: the map takes lines to lines.
Run run_inside(const Line& line, Size size, int channels) {
  constexpr double kHalf = 0.5 / (1 << kernels::kShareBits);  // what rounding may add
  // Two pixels of three channels are read as eight bytes: not at the very end of the picture.
  const double last_x = static_cast<double>(size.width - (channels == 1 ? 1 : 2)) - kHalf;
  const double last_y = static_cast<double>(size.height - 1) - kHalf;
  const auto is_inside = [&](std::int64_t i) {
    const double x = line.x(i);
    const double y = line.y(i);
    return x >= 0 && x < last_x && y >= 0 && y < last_y;
  };
  Run run{0, size.width};
  while (run.begin < run.end && !is_inside(run.begin)) ++run.begin;
  while (run.end > run.begin && !is_inside(run.end - 1)) --run.end;
  return run;
}

}  // namespace

Affine affine_of(const Draw& draw, Size size) {
  const auto radians = [](double degrees) { return degrees * std::numbers::pi / 180; };
  const double turn = radians(draw.rotation);
  const double shear = radians(draw.shear);
  const Matrix rotation{std::cos(turn), -std::sin(turn), std::sin(turn), std::cos(turn)};
  const Matrix rest =
      Matrix{1, -std::sin(shear), 0, std::cos(shear)} * Matrix{draw.zoom_x, 0, 0, draw.zoom_y};
  const Matrix all = rotation * rest;
  const double shift_x = draw.shift_x_share * static_cast<double>(size.width) + draw.shift_x_pixels;
  const double shift_y =
      draw.shift_y_share * static_cast<double>(size.height) + draw.shift_y_pixels;
  const double centre_x = static_cast<double>(size.width) / 2 - 0.5;
  const double centre_y = static_cast<double>(size.height) / 2 - 0.5;
  Affine map{.xx = all.a, .xy = all.b, .yx = all.c, .yy = all.d};
  map.x0 =
      rotation.a * shift_x + rotation.b * shift_y + centre_x - all.a * centre_x - all.b * centre_y;
  map.y0 =
      rotation.c * shift_x + rotation.d * shift_y + centre_y - all.c * centre_x - all.d * centre_y;
  if (draw.horizontal_flip) {
    map.x0 += map.xx * static_cast<double>(size.width - 1);
    map.y0 += map.yx * static_cast<double>(size.width - 1);
    map.xx = -map.xx;
    map.yx = -map.yx;
  }
  if (draw.vertical_flip) {
    map.x0 += map.xy * static_cast<double>(size.height - 1);
    map.y0 += map.yy * static_cast<double>(size.height - 1);
    map.xy = -map.xy;
    map.yy = -map.yy;
  }
  return map;
}

void warp(const std::uint8_t* from, Size size, int channels, const Affine& map, FillMode fill,
          double cval, std::uint8_t* to) {
  for (std::int64_t row = 0; row < size.height; ++row) {
    const Line line{.x0 = map.xy * static_cast<double>(row) + map.x0,
                    .y0 = map.yy * static_cast<double>(row) + map.y0,
                    .dx = map.xx,
                    .dy = map.yx};
    const Run inside = run_inside(line, size, channels);
    std::uint8_t* out = to + row * size.width * channels;
    const auto put_outside = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        put_any(from, size, channels, line.x(i), line.y(i), fill, cval, out + i * channels);
    };
    put_outside(0, inside.begin);
    kernels::blend_four(from, size.width * channels, channels, line, inside, out);
    put_outside(inside.end, size.width);
  }
}

}  // namespace plimsoll
