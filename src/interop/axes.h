// Where the elements of a stored weight belong in ours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interop/imported_file.h"
#include "tensor/view.h"

namespace plimsoll::interop {

// The axes as which a stored tensor of this shape becomes one of ours: those that are given, or
// `ours` for kernels that fit as they are. A dense layer and a 1x1 convolution over one pixel are
// the same, so either's weights fit the other. Nothing if the shapes do not agree.
std::optional<Axes> fitting_axes(const std::vector<std::int64_t>& stored, Axes axes,
                                 const std::vector<std::int64_t>& ours);

// A weight of ours with the axes that `axes` tells apart: a dense layer's over bins has four.
TensorView with_axes(const TensorView& ours, Axes axes);
// The axes of that view, `rank` of them, in the order in which the file counts elements; see
// tensor/convert.h.
std::vector<int> order_of(Axes axes, int rank);

// The shape in which a weight of ours is stored.
std::vector<std::int64_t> stored_shape(const Shape& ours, Axes axes);

}  // namespace plimsoll::interop
