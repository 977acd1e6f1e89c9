// The Cook-Toom algorithms (Winograd's, for filters of three taps): m neighbouring results of an
// r-tap filter from n = m + r - 1 products instead of m * r. In two dimensions one lies in the
// other. A table of points is all that tells them apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace plimsoll::kernels {

template <int rows, int columns>
using Matrix = std::array<std::array<float, static_cast<std::size_t>(columns)>,
                          static_cast<std::size_t>(rows)>;

// Results y of m neighbouring places, from inputs d (n of them) and taps g (r):
//   y = output * ((weight * g) . (input * d)), the dot being a product element by element.
// The same matrices transposed give the gradient of g from d and that of y:
//   dg = weight' * ((input * d) . (output' * dy)).
template <int kOutputs, int kTaps>
struct CookToom {
  static constexpr int m = kOutputs;
  static constexpr int r = kTaps;
  static constexpr int n = m + r - 1;
  Matrix<n, n> input{};
  Matrix<n, r> weight{};
  Matrix<m, n> output{};
};

// By the values of polynomials at n - 1 points and at infinity. A point and its negative stand side
// by side, so that their rows differ in signs alone and are computed together.
template <int m, int r>
constexpr CookToom<m, r> cook_toom(
    const std::array<double, static_cast<std::size_t>(m + r - 2)>& points) {
  constexpr int n = m + r - 1;
  CookToom<m, r> made;
  // The polynomial whose zeros are all points but `left_out`; its leading coefficient is 1.
  const auto product = [&](int left_out) {
    std::array<double, static_cast<std::size_t>(n)> c{};
    c[0] = 1;
    int degree = 0;
    for (int k = 0; k < n - 1; ++k) {
      if (k == left_out) continue;
      for (int j = ++degree; j >= 0; --j)
        c[j] = (j > 0 ? c[j - 1] : 0) - points[k] * (j < degree ? c[j] : 0);
    }
    return c;
  };
  for (int i = 0; i < n - 1; ++i) {
    double apart = 1;
    for (int k = 0; k < n - 1; ++k)
      if (k != i) apart *= points[i] - points[k];
    // Powers of two keep the rows of weights near 1.
    double largest = 1, power = 1, scale = 1;
    for (int j = 0; j < r; ++j, power *= points[i])
      largest = power > largest ? power : -power > largest ? -power : largest;
    while (largest * scale > 1.5) scale /= 2;
    const auto c = product(i);
    for (int j = 0; j < n; ++j) made.input[i][j] = static_cast<float>(c[j] / apart / scale);
    power = 1;
    for (int j = 0; j < std::max(m, r); ++j, power *= points[i]) {
      if (j < r) made.weight[i][j] = static_cast<float>(power * scale);
      if (j < m) made.output[j][i] = static_cast<float>(power);
    }
  }
  const auto whole = product(-1);
  for (int j = 0; j < n; ++j) made.input[n - 1][j] = static_cast<float>(whole[j]);
  made.weight[n - 1][r - 1] = 1;
  made.output[m - 1][n - 1] = 1;
  return made;
}

template <int rows, int columns>
constexpr Matrix<columns, rows> transposed(const Matrix<rows, columns>& matrix) {
  Matrix<columns, rows> turned{};
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) turned[j][i] = matrix[i][j];
  return turned;
}

}  // namespace plimsoll::kernels
