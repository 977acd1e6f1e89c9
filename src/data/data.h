// The front door of data: from files to batches.
#pragma once

#include "data/fashion_mnist.h"  // IWYU pragma: export
#include "data/idx.h"            // IWYU pragma: export
#include "data/images.h"         // IWYU pragma: export
#include "data/order.h"          // IWYU pragma: export
