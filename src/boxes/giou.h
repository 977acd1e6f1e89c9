// Generalized IoU as a loss.
#pragma once

#include "boxes/box.h"

namespace plimsoll::boxes {

// 1 - i / (u + e) + (c - u) / (c + e) for a box and its target: i what they share, u what they
// cover, c what encloses both, e = 1e-7. `slope` becomes its gradient by the corners of `box`;
// where corners of both are equal, half of it, as PyTorch has it.
template <class T>
T giou_loss(const Box<T>& box, const Box<T>& target, Box<T>& slope);

}  // namespace plimsoll::boxes
