#include "data/transform.h"

#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/colour.h"
#include "data/resample.h"
#include "data/warp.h"

namespace plimsoll {
namespace {

struct NamedInterpolation {
  std::string_view name;
  Interpolation interpolation;
};
constexpr std::array<NamedInterpolation, 6> kInterpolations = {{
    {"nearest", {Resize::nearest, false}},
    {"bilinear", {Resize::bilinear, false}},
    {"bilinear-antialias", {Resize::bilinear, true}},
    {"bicubic", {Resize::bicubic, false}},
    {"bicubic-antialias", {Resize::bicubic, true}},
    {"area", {Resize::area, true}},
}};

constexpr std::array<std::string_view, 5> kModes = {"none", "scale", "tf", "caffe", "torch"};

[[noreturn]] void refuse(std::string_view text, std::string_view where,
                         std::span<const std::string_view> names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  throw UsageError({.where = std::string(where),
                    .got = "'" + std::string(text) + "'",
                    .expected = "expected one of " + all,
                    .hint = did_you_mean(nearest(text, names))});
}

// A stretch of the upright image, in pixels of the picture that covers it.
Stretch stretch(std::int64_t begin, std::int64_t length, std::int64_t covered_from,
                std::int64_t scale, std::int64_t limit) {
  return {static_cast<double>(begin - covered_from) / static_cast<double>(scale),
          static_cast<double>(length) / static_cast<double>(scale), limit};
}

}  // namespace

Interpolation parse_interpolation(std::string_view text, std::string_view where) {
  std::vector<std::string_view> names;
  for (const NamedInterpolation& known : kInterpolations) {
    if (known.name == text) return known.interpolation;
    names.push_back(known.name);
  }
  refuse(text, where, names);
}

std::string_view to_text(const Interpolation& interpolation) {
  for (const NamedInterpolation& known : kInterpolations)
    if (known.interpolation == interpolation) return known.name;
  return interpolation.method == Resize::area ? "area" : "nearest";
}

Normalisation::Mode parse_normalisation(std::string_view text, std::string_view where) {
  for (std::size_t i = 0; i < kModes.size(); ++i)
    if (kModes[i] == text) return static_cast<Normalisation::Mode>(i);
  refuse(text, where, kModes);
}

std::string_view to_text(Normalisation::Mode mode) {
  return kModes.at(static_cast<std::size_t>(mode));
}

struct Transformer::State {
  Size out;
  int channels;
  Interpolation interpolation;
  ResizeScratch resize;
  std::vector<std::uint8_t> unwarped;
};

Transformer::Transformer(Size out, int channels, Interpolation interpolation)
    : state_(std::make_unique<State>(
          State{.out = out, .channels = channels, .interpolation = interpolation})) {
  expect(out.width > 0 && out.height > 0, "an output without pixels");
  expect(channels == 1 || channels == 3, "an output of other than 1 or 3 channels");
}
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;
Transformer::~Transformer() = default;

void Transformer::run(const Picture& picture, const Coverage& coverage, const Rect& crop,
                      const Draw& draw, std::uint8_t* hwc) {
  State& state = *state_;
  expect(picture.channels == state.channels, "a picture of other channels than the transformer");
  expect(crop.width > 0 && crop.height > 0 && crop.x >= coverage.x && crop.y >= coverage.y &&
             crop.x + crop.width <= coverage.x + picture.width * coverage.scale &&
             crop.y + crop.height <= coverage.y + picture.height * coverage.scale,
         "a crop outside of what was decoded");
  const Stretch columns = stretch(crop.x, crop.width, coverage.x, coverage.scale, picture.width);
  const Stretch rows = stretch(crop.y, crop.height, coverage.y, coverage.scale, picture.height);

  const bool is_affine = draw.is_affine();
  std::uint8_t* resized = hwc;
  if (is_affine) {
    state.unwarped.resize(
        static_cast<std::size_t>(state.out.width * state.out.height * state.channels));
    resized = state.unwarped.data();
  }
  resize(picture, columns, rows, state.out, state.interpolation, draw.horizontal_flip && !is_affine,
         draw.vertical_flip && !is_affine, state.resize, resized);
  if (is_affine)
    warp(resized, state.out, state.channels, affine_of(draw, state.out), draw.fill_mode, draw.cval,
         hwc);
  change_colours(hwc, state.out, state.channels, draw);
}

Bytes Transformer::bytes(Size out, int channels, Interpolation interpolation, Size largest) {
  return Bytes{static_cast<std::int64_t>(sizeof(State))} +
         Bytes{out.width * out.height * channels} +
         resize_bytes(largest, out, channels, interpolation);
}

}  // namespace plimsoll
