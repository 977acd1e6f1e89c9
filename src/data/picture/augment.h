// What may happen to a training picture at random, by name and range, and what does happen to one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/picture/picture.h"

namespace plimsoll {

// Drawn evenly from [low, high].
struct Range {
  double low = 0;
  double high = 0;

  bool operator==(const Range&) const = default;
};

// What lies outside a picture that was turned or moved: cval, its last row or column
// (aaa|abcd|ddd), its mirror (cba|abcd|dcb), or the picture again. As in scipy, which Keras uses.
enum class FillMode { constant, nearest, reflect, wrap };

struct RandomResizedCrop {
  Range scale{0.08, 1};               // share of the area
  Range ratio{3.0 / 4.0, 4.0 / 3.0};  // width to height

  bool operator==(const RandomResizedCrop&) const = default;
};

// Names and meanings of Keras's ImageDataGenerator down to `rescale`. A zero or absent range does
// nothing. They are applied in this order: random_resized_crop and the resize to network size;
// rotation, shift, shear and zoom as one affine map; channel_shift; flips; brightness; contrast;
// saturation; hue; cutout; mixup.
struct Augment {
  double rotation_range = 0;                   // degrees, to both sides
  double width_shift_range = 0;                // columns: below 1 a share of the width, else pixels
  double height_shift_range = 0;               // rows: below 1 a share of the height, else pixels
  std::optional<Range> brightness_range = {};  // factors
  double shear_range = 0;                      // degrees
  Range zoom_range{1, 1};          // factors, for width and height apart; above 1 shows more
  double channel_shift_range = 0;  // levels of 255
  bool horizontal_flip = false;
  bool vertical_flip = false;
  FillMode fill_mode = FillMode::nearest;
  double cval = 0;  // level for FillMode::constant
  // A factor for the values of the network's input. Not random: it goes into Normalisation.
  std::optional<double> rescale = {};

  std::optional<RandomResizedCrop> random_resized_crop = {};
  std::optional<Range> contrast = {};    // factors of the distance to the channel's mean
  std::optional<Range> saturation = {};  // factors of the saturation of HSV
  double hue = 0;                        // share of the circle, to both sides; at most 0.5
  double cutout = 0;  // side of a grey (128) square at a random place, as share of the shorter side
  double mixup = 0;   // alpha: the share of another picture is drawn from Beta(alpha, alpha)

  bool operator==(const Augment&) const = default;
};

// Reads "horizontal_flip,zoom_range=0.2,random_resized_crop=0.35:1": names separated by commas, a
// range as low:high. One number for zoom_range is 1 - z : 1 + z as in Keras, for contrast and
// saturation the same; random_resized_crop takes scale, or scale and ratio as four numbers, or
// none.
// "" and "none" are no augmentation. UsageError, with `where` as its place, on a name that does not
// exist (with the nearest that does), a name given twice, and on a number out of its range.
Augment parse_augment(std::string_view text, std::string_view where = "augment");

// The text that parse_augment reads back as the same; "none" if nothing is set.
std::string to_text(const Augment& augment);

// Boxes go with a picture that is flipped, cut or coloured. UsageError, with `where` as its place,
// on what turns, moves, covers or mixes pictures, by its name.
void check_for_boxes(const Augment& augment, std::string_view where = "augment");

// The numbers drawn for one sample. The default leaves a picture as it is.
struct Draw {
  struct CropTry {
    double area = 1;   // share of the image's
    double ratio = 1;  // width to height
  };
  // Tried in turn: the first whose rectangle fits into the image is the crop.
  std::optional<std::array<CropTry, 10>> crop = {};
  Range crop_at{0.5, 0.5};  // where it lies, column and row, as share of the room there is

  double rotation = 0;  // degrees
  double shear = 0;     // degrees
  double zoom_x = 1;
  double zoom_y = 1;
  double shift_x_share = 0;  // of the width
  double shift_y_share = 0;
  double shift_x_pixels = 0;
  double shift_y_pixels = 0;
  FillMode fill_mode = FillMode::nearest;
  double cval = 0;

  bool horizontal_flip = false;
  bool vertical_flip = false;
  double channel_shift = 0;
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;

  double cutout = 0;             // side, as share of the shorter side
  Range cutout_at{0.5, 0.5};     // its centre, column and row, as share of width and height
  double mixup = 0;              // share of the other picture, in [0, 0.5]
  std::uint64_t mixup_with = 0;  // a random number: modulo the samples there are, the other one

  bool is_affine() const {
    return rotation != 0 || shear != 0 || zoom_x != 1 || zoom_y != 1 || shift_x_share != 0 ||
           shift_y_share != 0 || shift_x_pixels != 0 || shift_y_pixels != 0;
  }
};

// A pure function of its arguments: nothing of other samples, workers or steps enters.
Draw draw_augment(const Augment& augment, std::uint64_t seed, std::int64_t epoch,
                  std::int64_t index);

// The part of an image that a draw shows: its random crop, or all of it.
Rect crop_of(const Draw& draw, Size image);

// The largest centred part with the ratio of `out` (Keras's crop_to_aspect_ratio).
Rect centred_crop(Size image, Size out);

// Mixes `share` of another picture into one, byte by byte, rounding to nearest.
void mix(std::uint8_t* pixels, const std::uint8_t* other, std::int64_t count,
         double share) noexcept;

}  // namespace plimsoll
