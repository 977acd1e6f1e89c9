// Small matrices that are known to the compiler times vectors: zeros and ones cost nothing, and
// rows or columns that differ in signs alone are computed together.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/cook_toom.h"
#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Whether row i + 1 is row i with every second sign turned: p and -p of Cook-Toom.
template <int rows, int columns>
constexpr bool rows_mirror(const Matrix<rows, columns>& matrix, int i) {
  if (i + 1 >= rows) return false;
  bool mirrors = true, differs = false;
  for (int j = 0; j < columns; ++j) {
    const float sign = j % 2 == 0 ? 1.0F : -1.0F;
    mirrors = mirrors && matrix[i + 1][j] == sign * matrix[i][j];
    differs = differs || (j % 2 == 1 && matrix[i][j] != 0);
  }
  return mirrors && differs;
}

// A factor as an argument of templates: clang has no floats there before 18.
constexpr std::uint32_t bits_of(float factor) { return std::bit_cast<std::uint32_t>(factor); }

// sum + factor * v, where the compiler knows the factor; `is_first`: there is no sum yet.
template <std::uint32_t bits, bool is_first>
inline Vec add_scaled(Vec sum, Vec v) {
  constexpr auto factor = std::bit_cast<float>(bits);
  if constexpr (is_first && factor == 1)
    return v;
  else if constexpr (is_first)
    return mul(splat(factor), v);
  else if constexpr (factor == 1)
    return add(sum, v);
  else if constexpr (factor == -1)
    return sub(sum, v);
  else
    return fma(splat(factor), v, sum);
}

// The sum over every `kStep`-th column from `kColumn` on; zero() if there is none.
template <const auto& matrix, int kRow, int kColumn, int kStep, bool is_first = true>
inline Vec row_sum(const Vec* in, int in_step, Vec sum = zero()) {
  constexpr int columns = static_cast<int>(matrix[0].size());
  if constexpr (kColumn >= columns) {
    return sum;
  } else if constexpr (matrix[kRow][kColumn] == 0) {
    return row_sum<matrix, kRow, kColumn + kStep, kStep, is_first>(in, in_step, sum);
  } else {
    sum = add_scaled<bits_of(matrix[kRow][kColumn]), is_first>(sum, in[kColumn * in_step]);
    return row_sum<matrix, kRow, kColumn + kStep, kStep, false>(in, in_step, sum);
  }
}

// out[i * out_step] = sum over j of matrix[i][j] * in[j * in_step].
template <const auto& matrix, int kRow = 0>
inline void multiply_rows(const Vec* in, int in_step, Vec* out, int out_step) {
  constexpr int rows = static_cast<int>(matrix.size());
  if constexpr (kRow < rows) {
    if constexpr (rows_mirror<rows, static_cast<int>(matrix[0].size())>(matrix, kRow)) {
      const Vec even = row_sum<matrix, kRow, 0, 2>(in, in_step);
      const Vec odd = row_sum<matrix, kRow, 1, 2>(in, in_step);
      out[kRow * out_step] = add(even, odd);
      out[(kRow + 1) * out_step] = sub(even, odd);
      multiply_rows<matrix, kRow + 2>(in, in_step, out, out_step);
    } else {
      out[kRow * out_step] = row_sum<matrix, kRow, 0, 1>(in, in_step);
      multiply_rows<matrix, kRow + 1>(in, in_step, out, out_step);
    }
  }
}

// Replaces in[i], in[i + 1] by their sum and difference wherever columns i, i + 1 of the matrix
// mirror each other; those of multiply_columns then read one of the two.
template <const auto& turned, int kColumn = 0>
inline void join_columns(Vec* in, int in_step) {
  constexpr int columns = static_cast<int>(turned.size());
  if constexpr (kColumn < columns) {
    if constexpr (rows_mirror<columns, static_cast<int>(turned[0].size())>(turned, kColumn)) {
      const Vec a = in[kColumn * in_step], b = in[(kColumn + 1) * in_step];
      in[kColumn * in_step] = add(a, b);
      in[(kColumn + 1) * in_step] = sub(a, b);
      join_columns<turned, kColumn + 2>(in, in_step);
    } else {
      join_columns<turned, kColumn + 1>(in, in_step);
    }
  }
}

template <const auto& turned, int kRow, int kColumn = 0, bool is_first = true>
inline Vec joined_sum(const Vec* in, int in_step, Vec sum = zero()) {
  constexpr int columns = static_cast<int>(turned.size());
  if constexpr (kColumn >= columns) {
    return sum;
  } else {
    constexpr bool joined =
        rows_mirror<columns, static_cast<int>(turned[0].size())>(turned, kColumn);
    constexpr int next = kColumn + (joined ? 2 : 1);
    constexpr int from = kColumn + (joined && kRow % 2 == 1 ? 1 : 0);
    if constexpr (turned[kColumn][kRow] == 0) {
      return joined_sum<turned, kRow, next, is_first>(in, in_step, sum);
    } else {
      sum = add_scaled<bits_of(turned[kColumn][kRow]), is_first>(sum, in[from * in_step]);
      return joined_sum<turned, kRow, next, false>(in, in_step, sum);
    }
  }
}

// The same product for a matrix whose columns mirror each other, given as its transpose; `in` is
// written over.
template <const auto& turned>
inline void multiply_columns(Vec* in, int in_step, Vec* out, int out_step) {
  join_columns<turned>(in, in_step);
  [&]<int... kRow>(std::integer_sequence<int, kRow...>) {
    ((out[kRow * out_step] = joined_sum<turned, kRow>(in, in_step)), ...);
  }
  (std::make_integer_sequence<int, static_cast<int>(turned[0].size())>{});
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
