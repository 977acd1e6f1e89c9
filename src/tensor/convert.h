// Tensors of any layout as numbers in a row, a piece at a time.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/view.h"

namespace plimsoll {

// The axes of a tensor, outermost first, in which its elements are counted. Empty: as its shape has
// them, row-major.
using AxisOrder = std::span<const int>;

// Elements [first, first + out.size()) of an f32 tensor.
void read_elements(const TensorView& view, std::int64_t first, std::span<float> out,
                   AxisOrder order = {});

// The opposite. Padding lanes are not touched.
void write_elements(const TensorView& view, std::int64_t first, std::span<const float> in,
                    AxisOrder order = {});

}  // namespace plimsoll
