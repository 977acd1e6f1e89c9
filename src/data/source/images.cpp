#include "data/source/images.h"

namespace plimsoll {

Bytes Images::bytes() const {
  return {static_cast<std::int64_t>(pixels.size() * sizeof(pixels[0]) +
                                    labels.size() * sizeof(labels[0]))};
}

}  // namespace plimsoll
