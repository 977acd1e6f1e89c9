// How Keras says what a window reads beyond an image's border.
#pragma once

#include <string>
#include <vector>

#include "nn/layer.h"

namespace plimsoll::interop {

struct KerasPadding {
  std::string word;  // "same" or "valid"; empty: the layer has no padding
  Ints zeros;        // of a ZeroPadding2D before the layer: top, left, bottom, right; empty: none
};

// `layer` is one of `layers`. Keras has no word for PyTorch's paddings: where 'same' is not the
// same for this image, zeros are laid before the layer, as Keras's own networks do it. UsageError
// that names a layer for which that is wrong: a pool of numbers that may be negative, or one layer
// that several images go through.
KerasPadding keras_padding(const std::vector<nn::Layer>& layers, const nn::Layer& layer);

}  // namespace plimsoll::interop
