// Elements of stored weights as numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "format/element_type.h"

namespace plimsoll::interop {

// Elements as f32. False for types that are no numbers of weights.
bool to_floats(ElementType type, std::span<const std::byte> bytes, std::vector<float>& out);

}  // namespace plimsoll::interop
