#include "kernels/gemm.h"
#include "tests/support/threads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace plimsoll::kernels {
namespace {

// A matrix product and what it should be.
struct Product {
  std::int64_t m, n, k;
  std::vector<float> a, b, bias;

  Product(std::int64_t rows, std::int64_t columns, std::int64_t depth)
      : m(rows),
        n(columns),
        k(depth),
        a(numbers(m * k, 1)),
        b(numbers(k * n, 2)),
        bias(numbers(n, 3)) {}

  static std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::uint32_t state = seed * 2654435761u;
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
    }
    return values;
  }

  // Each matrix may lie transposed: then element (i, j) of `a` is a[j * m + i].
  MatrixView view_a(bool turned) const {
    return turned ? MatrixView{a.data(), 1, m} : MatrixView{a.data(), k, 1};
  }
  MatrixView view_b(bool turned) const {
    return turned ? MatrixView{b.data(), 1, k} : MatrixView{b.data(), n, 1};
  }

  std::vector<float> run(bool turned_a, bool turned_b, bool biased, int threads,
                         std::int64_t lanes = kNarrowLanes) const {
    const Gemm gemm(m, n, k, tested_threads(threads), lanes);
    std::vector<float> c(static_cast<std::size_t>(m * n), NAN);
    std::vector<std::byte> scratch(static_cast<std::size_t>(gemm.scratch()), std::byte{0xFF});
    gemm.run(view_a(turned_a), view_b(turned_b), biased ? bias.data() : nullptr, c.data(), n,
             scratch.data());
    return c;
  }

  double element(bool turned_a, bool turned_b, bool biased, std::int64_t i, std::int64_t j) const {
    const MatrixView va = view_a(turned_a), vb = view_b(turned_b);
    double sum = biased ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0;
    for (std::int64_t p = 0; p < k; ++p)
      sum += static_cast<double>(va.data[i * va.row + p * va.column]) *
             static_cast<double>(vb.data[p * vb.row + j * vb.column]);
    return sum;
  }
};

TEST(Gemm, MultipliesEveryShapeAndTransposition) {
  const std::int64_t sizes[][3] = {{1, 1, 1},    {6, 16, 8},    {5, 17, 3},   {7, 15, 300},
                                   {97, 33, 40}, {13, 300, 10}, {32, 70, 513}};
  for (const auto& [m, n, k] : sizes)
    for (bool turned_a : {false, true})
      for (bool turned_b : {false, true})
        for (bool biased : {false, true})
          for (const std::int64_t lanes : {kNarrowLanes, kWideLanes}) {
            SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                         " by " + std::to_string(lanes));
            const Product product(m, n, k);
            const std::vector<float> c = product.run(turned_a, turned_b, biased, 2, lanes);
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j)
                ASSERT_NEAR(static_cast<double>(c[static_cast<std::size_t>(i * n + j)]),
                            product.element(turned_a, turned_b, biased, i, j),
                            1e-6 * std::sqrt(static_cast<double>(k)) + 1e-6);
          }
}

TEST(Gemm, GivesTheSameBitsWhateverTheThreadCount) {
  const Product product(100, 530, 600);
  const std::vector<float> alone = product.run(false, false, true, 1);
  for (int threads : {2, 3, 8}) EXPECT_EQ(product.run(false, false, true, threads), alone);
}

}  // namespace
}  // namespace plimsoll::kernels
