#include "data/picture/transform.h"

#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/picture/colour.h"
#include "data/picture/resizer.h"
#include "data/picture/warp.h"

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

constexpr std::array<std::string_view, 6> kModes = {"none",  "scale", "tf",
                                                    "caffe", "torch", "slim"};

[[noreturn]] void refuse(std::string_view text, std::string_view where,
                         std::span<const std::string_view> names) {
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  throw UsageError({.where = std::string(where),
                    .got = "'" + std::string(text) + "'",
                    .expected = "expected one of " + all,
                    .hint = did_you_mean(nearest(text, names))});
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
  Room own;
  Room* room = nullptr;  // null: own
  std::span<std::uint8_t> unwarped;
  Resizer resizer;
  Draw draw;
  Size extent;
  std::uint8_t* hwc = nullptr;
};

Transformer::Transformer(Size out, int channels, Interpolation interpolation)
    : state_(std::make_unique<State>(
          State{.out = out, .channels = channels, .interpolation = interpolation})) {
  expect(out.width > 0 && out.height > 0, "an output without pixels");
  expect(channels == 1 || channels == 3, "an output of other than 1 or 3 channels");
}
Transformer::Transformer(Size out, int channels, Interpolation interpolation, Room& room)
    : Transformer(out, channels, interpolation) {
  state_->room = &room;
  state_->unwarped =
      room.take_array<std::uint8_t>(static_cast<std::size_t>(out.width * out.height * channels));
}
Transformer::Transformer(Transformer&&) noexcept = default;
Transformer& Transformer::operator=(Transformer&&) noexcept = default;
Transformer::~Transformer() = default;

RowSink& Transformer::begin(int orientation, Size stored, const Rect& crop, const Draw& draw,
                            std::uint8_t* hwc, std::optional<Size> extent) {
  State& state = *state_;
  state.draw = draw;
  state.extent = extent.value_or(state.out);
  state.hwc = hwc;
  const bool warps = draw.is_affine();
  state.resizer.expect_image({.out = state.extent,
                              .channels = state.channels,
                              .how = state.interpolation,
                              .orientation = orientation,
                              .stored = stored,
                              .crop = crop,
                              .mirror_x = draw.horizontal_flip && !warps,
                              .mirror_y = draw.vertical_flip && !warps,
                              .hwc = warps ? state.unwarped.data() : hwc});
  return state.resizer;
}

void Transformer::finish() {
  State& state = *state_;
  if (state.draw.is_affine())
    warp(state.unwarped.data(), state.extent, state.channels, affine_of(state.draw, state.extent),
         state.draw.fill_mode, state.draw.cval, state.hwc);
  change_colours(state.hwc, state.extent, state.channels, state.draw);
  if (state.extent != state.out) spread(state.hwc, state.extent, state.out, state.channels);
}

void Transformer::run(const Picture& picture, const Coverage& coverage, const Rect& crop,
                      const Draw& draw, std::uint8_t* hwc) {
  State& state = *state_;
  expect(picture.channels == state.channels, "a picture of other channels than the transformer");
  if (state.room == nullptr) {
    const Bytes need = bytes(state.out, state.channels, state.interpolation, picture.size());
    if (state.own.size() < need) {
      state.own = Room();
      state.own = Room(need);
    }
    state.own.rewind(0);
    state.unwarped = state.own.take_array<std::uint8_t>(
        static_cast<std::size_t>(state.out.width * state.out.height * state.channels));
  }
  Room& room = state.room != nullptr ? *state.room : state.own;
  const std::size_t before = room.used();
  begin(1, picture.size(), crop, draw, hwc);
  state.resizer.begin({.size = picture.size(), .channels = state.channels, .coverage = coverage},
                      room);
  for (std::int64_t y = 0; y < picture.height; ++y) state.resizer.feed(y, picture.row(y));
  room.rewind(before);
  finish();
}

Bytes Transformer::bytes(Size out, int channels, Interpolation interpolation, Size largest,
                         Fit fit) {
  return Bytes{Room::rounded(out.width * out.height * channels)} +
         Resizer::bytes(out, channels, interpolation, largest, fit);
}

}  // namespace plimsoll
