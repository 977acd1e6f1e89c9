// The front door of interop: files of other programs, as weights and as networks.
#pragma once

#include "interop/axes.h"           // IWYU pragma: export
#include "interop/imported_file.h"  // IWYU pragma: export
#include "interop/keras_network.h"  // IWYU pragma: export
#include "interop/match.h"          // IWYU pragma: export
#include "interop/onnx_writer.h"    // IWYU pragma: export
