// From a decoded picture to the network's input: crop, resize, flip, warp, colour; bytes to the
// end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bf16.h"
#include "base/bytes.h"
#include "data/picture/augment.h"
#include "data/picture/picture.h"
#include "data/picture/placement.h"
#include "data/picture/row_sink.h"

namespace plimsoll {

enum class Resize { nearest, bilinear, bicubic, area };

// `antialias` widens the filter by the factor of reduction, as Pillow and tf.image.resize with
// antialias do; without it the result is that of tf.image.resize (half-pixel centres), which
// Keras's image_dataset_from_directory uses. Nearest ignores it and is Pillow's,
// flow_from_directory's default; area is the mean over what an output pixel covers.
struct Interpolation {
  Resize method = Resize::bilinear;
  bool antialias = false;

  bool operator==(const Interpolation&) const = default;
};

// "nearest", "bilinear", "bicubic", "area", the last three also with "-antialias" (area has it
// anyway). UsageError otherwise.
Interpolation parse_interpolation(std::string_view text, std::string_view where = "resize");
std::string_view to_text(const Interpolation& interpolation);

// Makes pictures of one size, one after the other: resizes, warps, colours. Not thread-safe: one
// per worker.
class Transformer {
 public:
  // Draws from `room`, which must outlive it; part of it is taken for good.
  Transformer(Size out, int channels, Interpolation interpolation, Room& room);
  // With a room of its own, for run(), which grows to what a picture needs.
  Transformer(Size out, int channels, Interpolation interpolation);
  Transformer(Transformer&&) noexcept;
  Transformer& operator=(Transformer&&) noexcept;
  ~Transformer();

  // Begins a picture: the part `crop` (upright image coordinates) of an image of that orientation
  // and stored size, changed as the draw says (its crop and mixup excepted), will be written as
  // [height][width][channels] to `hwc`. The sink is to be fed the image's rows; then finish(). With
  // an extent, the picture becomes that large and lies at the top left, the rest is zero: the draw
  // changes what is within the extent alone.
  RowSink& begin(int orientation, Size stored, const Rect& crop, const Draw& draw,
                 std::uint8_t* hwc, std::optional<Size> extent = {});
  void finish();

  // The same for a picture, whose coverage contains the crop, of the channels of this object.
  void run(const Picture& picture, const Coverage& coverage, const Rect& crop, const Draw& draw,
           std::uint8_t* hwc);

  // The most that one such object takes from its room for images of up to `largest`, with extents
  // as extent_of() has them.
  static Bytes bytes(Size out, int channels, Interpolation interpolation, Size largest,
                     Fit fit = Fit::squeeze);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How values become the network's input, by the modes of Keras's preprocess_input.
struct Normalisation {
  enum class Mode {
    none,   // 0 .. 255
    scale,  // x / 255
    tf,     // x / 127.5 - 1
    caffe,  // blue, green, red; each minus its ImageNet mean
    torch,  // x / 255, minus mean, over deviation of ImageNet
    slim,   // red, green, blue; each minus its ImageNet mean: ResNets of TF-Slim
  };
  Mode mode = Mode::tf;
  double rescale = 1;  // factor for what the mode gives, as ImageDataGenerator applies both

  bool operator==(const Normalisation&) const = default;
};

Normalisation::Mode parse_normalisation(std::string_view text,
                                        std::string_view where = "normalise");
std::string_view to_text(Normalisation::Mode mode);

// Writes [channels][height][width] numbers, with the arithmetic of Keras in float32. Grey pictures
// know no order of channels and take the mean over Keras's three constants. Does not allocate or
// throw; calls on different outputs may run at the same time.
void normalise(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
               float* chw) noexcept;
void normalise(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
               Bf16* chw) noexcept;

}  // namespace plimsoll
