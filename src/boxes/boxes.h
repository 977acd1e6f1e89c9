// The front door of boxes: rectangles, anchors, matching, suppression and how well a detector does,
// as pure functions. Frame everywhere: continuous pixels, x to the right, y down, no +1 anywhere.
// What is compared with a threshold or for equality is rounded as written: this folder is compiled
// without contraction of products and sums.
#pragma once

#include "boxes/anchors.h"            // IWYU pragma: export
#include "boxes/average_precision.h"  // IWYU pragma: export
#include "boxes/box.h"                // IWYU pragma: export
#include "boxes/coder.h"              // IWYU pragma: export
#include "boxes/giou.h"               // IWYU pragma: export
#include "boxes/matching.h"           // IWYU pragma: export
#include "boxes/nms.h"                // IWYU pragma: export
#include "boxes/sampling.h"           // IWYU pragma: export
