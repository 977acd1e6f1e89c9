// The front door of data: from files to batches.
#pragma once

#include "data/augment.h"          // IWYU pragma: export
#include "data/decode.h"           // IWYU pragma: export
#include "data/fashion_mnist.h"    // IWYU pragma: export
#include "data/idx.h"              // IWYU pragma: export
#include "data/images.h"           // IWYU pragma: export
#include "data/memory_source.h"    // IWYU pragma: export
#include "data/open_source.h"      // IWYU pragma: export
#include "data/order.h"            // IWYU pragma: export
#include "data/picture.h"          // IWYU pragma: export
#include "data/pipeline.h"         // IWYU pragma: export
#include "data/pipeline_memory.h"  // IWYU pragma: export
#include "data/scan.h"             // IWYU pragma: export
#include "data/source.h"           // IWYU pragma: export
#include "data/source_options.h"   // IWYU pragma: export
#include "data/transform.h"        // IWYU pragma: export
#include "data/upright_box.h"      // IWYU pragma: export
