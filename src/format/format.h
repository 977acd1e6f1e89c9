// The front door of format: files as bytes, without knowledge of networks.
#pragma once

#include "format/element_type.h"  // IWYU pragma: export
#include "format/event_file.h"    // IWYU pragma: export
#include "format/protobuf.h"      // IWYU pragma: export
#include "format/safetensors.h"   // IWYU pragma: export
