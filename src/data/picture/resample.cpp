#include "data/picture/resample.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace plimsoll {
namespace {

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys's cubic with a = -0.5, as in Pillow and TensorFlow.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// Input pixels that one output pixel of a reduction by `scale` reaches to either side.
double reach(Interpolation how, double scale) {
  const double widened = how.antialias ? std::max(scale, 1.0) : 1.0;
  switch (how.method) {
    case Resize::nearest: return 0.5;
    case Resize::bilinear: return widened;
    case Resize::bicubic: return 2 * widened;
    case Resize::area: return scale / 2 + 0.5;
  }
  return 1;
}

double weight(Interpolation how, double scale, double distance) {
  const double widened = how.antialias ? std::max(scale, 1.0) : 1.0;
  switch (how.method) {
    case Resize::bilinear: return triangle(distance / widened);
    case Resize::bicubic: return cubic(distance / widened);
    case Resize::area:  // the overlap of two intervals, one of length 1, one of `scale`
      return std::clamp((scale + 1) / 2 - std::abs(distance), 0.0, std::min(scale, 1.0));
    case Resize::nearest: break;
  }
  return 1;
}

// Rounds so that the sum stays exact and no position drifts: each running sum is rounded.
void round_weights(std::span<const double> exact, double sum, std::span<std::int16_t> rounded) {
  double running = 0;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    running += exact[i] / sum * (1 << Taps::kBits);
    const std::int64_t now = std::llround(running);
    rounded[i] = static_cast<std::int16_t>(std::clamp<std::int64_t>(now - before, -32767, 32767));
    before = now;
  }
}

}  // namespace

std::int64_t Taps::most(double scale, Interpolation how) {
  const std::int64_t all = static_cast<std::int64_t>(std::floor(2 * reach(how, scale))) + 1;
  return (all + 1) / 2 * 2;
}

std::int64_t Taps::bytes(double scale, std::int64_t out_size, Interpolation how) {
  const std::int64_t most_taps = most(scale, how) + 2;
  return Room::rounded(out_size * 4) + Room::rounded(out_size * most_taps * 2) +
         Room::rounded(most_taps * 8);
}

Taps Taps::make(const Stretch& in, std::int64_t out_size, Interpolation how, Room& room) {
  Taps taps{.out = out_size};
  const double scale = in.length / static_cast<double>(out_size);
  const auto lowest = static_cast<std::int64_t>(std::floor(in.begin + 1e-9));
  const std::int64_t end =
      std::min(static_cast<std::int64_t>(std::ceil(in.begin + in.length - 1e-9)), in.limit);
  const std::int64_t low = std::clamp<std::int64_t>(lowest, 0, end - 1);
  const double radius = reach(how, scale);
  const auto most_taps = static_cast<std::int64_t>(std::floor(2 * radius)) + 1;
  // Triangles and cubics vanish at their ends, so one pixel less is enough for them.
  taps.count =
      how.method == Resize::area || how.method == Resize::nearest ? most_taps : most_taps - 1;
  if (radius != std::floor(radius)) taps.count = most_taps;
  taps.count = (taps.count + 1) / 2 * 2;
  const auto count = static_cast<std::size_t>(taps.count);
  const auto positions = static_cast<std::size_t>(out_size);
  taps.first = room.take_array<std::int32_t>(positions);
  taps.weights = room.take_array<std::int16_t>(positions * count);
  std::ranges::fill(taps.weights, std::int16_t{0});
  const std::span<double> exact = room.take_array<double>(count);

  for (std::size_t i = 0; i < positions; ++i) {
    const double centre = in.begin + (static_cast<double>(i) + 0.5) * scale;
    if (how.method == Resize::nearest) {
      const auto pixel = static_cast<std::int64_t>(std::floor(centre + 1e-9));
      taps.first[i] = static_cast<std::int32_t>(std::clamp(pixel, low, end - 1));
      continue;
    }
    // Pixel p has its centre at p + 0.5.
    std::int64_t from = static_cast<std::int64_t>(std::floor(centre - radius - 0.5)) + 1;
    from = std::clamp(from, low, end - 1);
    const std::int64_t to = std::clamp(from + taps.count, from + 1, end);
    double sum = 0;
    for (std::int64_t p = from; p < to; ++p) {
      const double w = weight(how, scale, static_cast<double>(p) + 0.5 - centre);
      exact[static_cast<std::size_t>(p - from)] = w;
      sum += w;
    }
    if (sum <= 0) {
      std::ranges::fill(exact, 0.0);
      exact[0] = sum = 1;
    }
    taps.first[i] = static_cast<std::int32_t>(from);
    const auto used = static_cast<std::size_t>(to - from);
    round_weights(exact.first(used), sum, taps.weights.subspan(i * count, used));
  }
  room.give_back(exact.data());
  return taps;
}

void Taps::mirror_output() {
  std::ranges::reverse(first);
  for (std::int64_t i = 0, j = out - 1; i < j; ++i, --j)
    std::swap_ranges(weights.data() + i * count, weights.data() + (i + 1) * count,
                     weights.data() + j * count);
}

// NOLINTNEXTLINE(readability-make-member-function-const): the table changes.
void Taps::mirror_input(std::int64_t limit) {
  for (std::int64_t i = 0; i < out; ++i) {
    std::int16_t* begin = weights.data() + i * count;
    std::reverse(begin, begin + count);
    const std::int64_t from = limit - first[static_cast<std::size_t>(i)] - count;
    // What reached past the end had no weight.
    if (from < 0) {
      std::shift_left(begin, begin + count, -from);
      std::fill(begin + count + std::max(from, -count), begin + count, std::int16_t{0});
    }
    first[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::max<std::int64_t>(from, 0));
  }
}

}  // namespace plimsoll
