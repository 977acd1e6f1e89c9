// The front door of format: files as bytes, without knowledge of networks.
#pragma once

#include "format/element_type.h"  // IWYU pragma: export
#include "format/event_file.h"    // IWYU pragma: export
#include "format/hdf5.h"          // IWYU pragma: export
#include "format/hdf5_writer.h"   // IWYU pragma: export
#include "format/onnx.h"          // IWYU pragma: export
#include "format/protobuf.h"      // IWYU pragma: export
#include "format/safetensors.h"   // IWYU pragma: export
#include "format/tensor_file.h"   // IWYU pragma: export
#include "format/zip.h"           // IWYU pragma: export
#include "format/zip_writer.h"    // IWYU pragma: export
