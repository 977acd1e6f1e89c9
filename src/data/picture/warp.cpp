#include "data/picture/warp.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace plimsoll {
namespace {

// Bits of a weight between two neighbours.
constexpr int kBits = 11;

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

std::uint8_t round_level(double level) {
  return static_cast<std::uint8_t>(std::clamp(level + 0.5, 0.0, 255.0));
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

// A pixel between four others. Eight bytes can be read at `at` and at `at + stride`.
inline void put_inside_3(const std::uint8_t* at, std::int64_t stride, int share_x, int share_y,
                         std::uint8_t* out) {
  // Left and right neighbour beside each other, as 16-bit numbers.
  const __m128i order = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, 0, -1, 3, -1);
  const __m128i columns = _mm_set1_epi32(share_x << 16 | ((1 << kBits) - share_x));
  const __m128i rows = _mm_set1_epi32(share_y << 16 | ((1 << kBits) - share_y));
  constexpr int kDropped = 5;  // so that a level of 255 fits into 16 bits
  constexpr int kShift = 2 * kBits - kDropped;
  const auto line = [&](const std::uint8_t* row) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row));
    const __m128i sum = _mm_madd_epi16(_mm_shuffle_epi8(bytes, order), columns);
    const __m128i half = _mm_set1_epi32(1 << (kDropped - 1));
    return _mm_srai_epi32(_mm_add_epi32(sum, half), kDropped);
  };
  const __m128i top = line(at);
  const __m128i low = line(at + stride);
  const __m128i both = _mm_or_si128(top, _mm_slli_epi32(low, 16));
  __m128i sum = _mm_add_epi32(_mm_madd_epi16(both, rows), _mm_set1_epi32(1 << (kShift - 1)));
  sum = _mm_srai_epi32(sum, kShift);
  sum = _mm_packs_epi32(sum, sum);
  const int pixel = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
  std::memcpy(out, &pixel, 3);
}

inline void put_inside_1(const std::uint8_t* at, std::int64_t stride, int share_x, int share_y,
                         std::uint8_t* out) {
  constexpr int kOne = 1 << kBits;
  const int top = at[0] * (kOne - share_x) + at[1] * share_x;
  const int low = at[stride] * (kOne - share_x) + at[stride + 1] * share_x;
  *out = static_cast<std::uint8_t>(
      (top * (kOne - share_y) + low * share_y + (1 << (2 * kBits - 1))) >> (2 * kBits));
}

// Where the pixels of one output row come from.
struct Line {
  double x0, y0, dx, dy;

  double x(std::int64_t i) const { return dx * static_cast<double>(i) + x0; }
  double y(std::int64_t i) const { return dy * static_cast<double>(i) + y0; }
};

// Pixels [begin, end) of a row.
struct Run {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The pixels that lie between four others. They are one run: the map takes lines to lines.
Run run_inside(const Line& line, Size size, int channels) {
  constexpr double kHalf = 0.5 / (1 << kBits);  // what rounding to kBits may add
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

template <int channels>
void put_run(const std::uint8_t* from, Size size, const Line& line, const Run& run,
             std::uint8_t* out) {
  constexpr int kOne = 1 << kBits;
  const std::int64_t stride = size.width * channels;
  for (std::int64_t i = run.begin; i < run.end; ++i) {
    // Rounded before the whole and the rest are told apart.
    const auto x = static_cast<int>(std::lrint(line.x(i) * kOne));
    const auto y = static_cast<int>(std::lrint(line.y(i) * kOne));
    const std::uint8_t* at = from + (y >> kBits) * stride + (x >> kBits) * channels;
    if constexpr (channels == 1)
      put_inside_1(at, stride, x & (kOne - 1), y & (kOne - 1), out + i);
    else
      put_inside_3(at, stride, x & (kOne - 1), y & (kOne - 1), out + 3 * i);
  }
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
    if (channels == 1)
      put_run<1>(from, size, line, inside, out);
    else
      put_run<3>(from, size, line, inside, out);
    put_outside(inside.end, size.width);
  }
}

}  // namespace plimsoll
