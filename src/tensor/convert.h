// Tensors of any layout as row-major numbers, a piece at a time.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace plimsoll {

// Logical elements [first, first + out.size()) of an f32 tensor, row-major over its shape.
void read_elements(const TensorView& view, std::int64_t first, std::span<float> out);

// The opposite. Padding lanes are not touched.
void write_elements(const TensorView& view, std::int64_t first, std::span<const float> in);

}  // namespace plimsoll
