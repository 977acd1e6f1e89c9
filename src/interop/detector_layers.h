// Which layers of a detector are what, by their names.
#pragma once

#include <string_view>

#include "zoo/detection_heads.h"
#include "zoo/region_heads.h"

namespace plimsoll::interop {

// The layer that tells classes apart.
inline bool is_class_output(std::string_view layer) {
  return layer == zoo::kClassOutput || layer == zoo::kRegionClassOutput;
}

// Classes of such a layer with so many outputs: one stage scores them for each anchor, two have a
// column for the background.
inline std::int64_t classes_of(std::string_view layer, std::int64_t width) {
  return layer == zoo::kClassOutput ? width / zoo::kAnchorsPerCell : width - 1;
}

// Of the pyramid or the heads: what a classifier's weights have nothing for.
inline bool is_behind_body(std::string_view layer) {
  for (const std::string_view prefix :
       {zoo::kPyramidPrefix, zoo::kHeadPrefix, zoo::kFirstStagePrefix, zoo::kSecondStagePrefix})
    if (layer.starts_with(prefix)) return true;
  return false;
}

}  // namespace plimsoll::interop
