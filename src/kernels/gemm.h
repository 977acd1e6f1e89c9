// Products of matrices in f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll::kernels {

// A matrix as it lies in memory: element (i, j) is data[i * row + j * column]. One of the steps is
// 1; to transpose, swap them.
struct MatrixView {
  const float* data = nullptr;
  std::int64_t row = 1;
  std::int64_t column = 1;
};

struct GemmShape {
  std::int64_t m, n, k;
  int threads;
};

// C[m, n] = A[m, k] * B[k, n], made ready for one size. Every element of C is summed over k in the
// same order, whatever the thread count.
class Gemm {
 public:
  // Uses at most `threads` threads, and registers of `lanes` lanes.
  Gemm(std::int64_t m, std::int64_t n, std::int64_t k, int threads,
       std::int64_t lanes = kNarrowLanes);

  std::int64_t scratch() const;  // bytes, 64-byte aligned
  // Rows of C lie `c_row` elements apart. `bias`, where not null, is added to every row.
  void run(const MatrixView& a, const MatrixView& b, const float* bias, float* c,
           std::int64_t c_row, std::byte* scratch) const noexcept;

 private:
  GemmShape shape_;
  std::int64_t lanes_;
};

}  // namespace plimsoll::kernels
