// oneDNN as it was loaded.
#pragma once

#include <string>

namespace plimsoll {

// Its version and the instructions it compiles for: what decides, beside the processor's caches,
// how its sums are rounded. "2.6.0 (52b5f107), instructions 0x7".
std::string kernel_library_text();

}  // namespace plimsoll
