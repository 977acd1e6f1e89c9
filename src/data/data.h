// The front door of data: from files to batches.
#pragma once

#include "data/batch/order.h"            // IWYU pragma: export
#include "data/batch/pipeline.h"         // IWYU pragma: export
#include "data/batch/pipeline_memory.h"  // IWYU pragma: export
#include "data/batch/placed_boxes.h"     // IWYU pragma: export
#include "data/codec/decode.h"           // IWYU pragma: export
#include "data/picture/augment.h"        // IWYU pragma: export
#include "data/picture/picture.h"        // IWYU pragma: export
#include "data/picture/placement.h"      // IWYU pragma: export
#include "data/picture/transform.h"      // IWYU pragma: export
#include "data/scan/scan.h"              // IWYU pragma: export
#include "data/source/canvas.h"          // IWYU pragma: export
#include "data/source/fashion_mnist.h"   // IWYU pragma: export
#include "data/source/idx.h"             // IWYU pragma: export
#include "data/source/images.h"          // IWYU pragma: export
#include "data/source/memory_source.h"   // IWYU pragma: export
#include "data/source/open_source.h"     // IWYU pragma: export
#include "data/source/source.h"          // IWYU pragma: export
#include "data/source/source_options.h"  // IWYU pragma: export
#include "data/source/upright_box.h"     // IWYU pragma: export
