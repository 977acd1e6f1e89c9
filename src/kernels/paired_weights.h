// Weights as products of bf16 take them: rounded, and two of those that are added up side by side.
#pragma once

#include <cstdint>

#include "base/bf16.h"
#include "kernels/transpose.h"

namespace plimsoll::kernels {

// `count` consecutive row-major blocks of `rows` rows of `lanes` floats: of each, rows 2r and 2r +
// 1 become one row of pairs (weights 16i16o become 8i16o2i). A last odd row is paired with zeros.
void pair_rows(std::int64_t lanes, std::int64_t count, std::int64_t rows, const float* from,
               Bf16* to) noexcept;

// Of each block of lanes x lanes columns become rows, which are paired (16i16o become 8o16i2o).
void pair_columns(std::int64_t lanes, const BlockMatrix& blocks, const float* from,
                  Bf16* to) noexcept;

}  // namespace plimsoll::kernels
