// y = exp(x) / sum of exp(x), over every row.
#include <cmath>

#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_matrix(in[0]);
  check_real(in[0]);
  return {in[0]};
}

Specs infer_grad(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_matrix(in[0], "the output gradient");
  check_real(in[0], "the output gradient");
  check_same(in[1], in[0], "the saved output");
  return {in[0]};
}

void rows(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const std::int64_t classes = x.spec.shape[1];
  for_real(x.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < x.spec.shape[0]; ++n) {
      const T* from = x.image<T>(n);
      T* to = y.image<T>(n);
      T largest = from[0];
      for (std::int64_t k = 1; k < classes; ++k) largest = std::fmax(largest, from[k]);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) {
        to[k] = std::exp(from[k] - largest);
        sum += static_cast<double>(to[k]);
      }
      const auto by = static_cast<T>(1 / sum);
      for (std::int64_t k = 0; k < classes; ++k) to[k] *= by;
    }
  });
}

void grad_rows(const Attrs&, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &y = args.in[1], &dx = args.out[0];
  const std::int64_t classes = y.spec.shape[1];
  for_real(y.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < y.spec.shape[0]; ++n) {
      const T *g = dy.image<T>(n), *p = y.image<T>(n);
      T* to = dx.image<T>(n);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k)
        sum += static_cast<double>(g[k]) * static_cast<double>(p[k]);
      for (std::int64_t k = 0; k < classes; ++k)
        to[k] = static_cast<T>(static_cast<double>(p[k]) * (static_cast<double>(g[k]) - sum));
    }
  });
}

Values backward(const Backward& b) { return {b.call1("softmax_grad", {b.dy[0], b.out(0)})}; }

}  // namespace

extern const OpFamily softmax;
const OpFamily softmax{{
    {.name = "softmax",
     .doc = "Scores of every row as probabilities.",
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}},
     .cost = pass_over<8>,
     .kernels = {{"rows", plain_job<rows>, kAnyReal}},
     .samples = {{.in = {{plain({5, 10})}}},
                 {.in = {{plain({3, 1001})}}},
                 {.in = {{plain({1, 1})}}}}},
    {.name = "softmax_grad",
     .doc = "dx = y * (dy - sum of dy * y), over every row.",
     .infer = infer_grad,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}},
     .cost = pass_over<4>,
     .kernels = {{"rows", plain_job<grad_rows>, kAnyReal}},
     .samples = {{.in = {{plain({5, 10})}, {plain({5, 10}), SampleInput::Fill::unit}}},
                 {.in = {{plain({3, 33})}, {plain({3, 33}), SampleInput::Fill::unit}}}}},
}};

}  // namespace plimsoll::ops
