// y = a * b, where b is like a or has one number for every image and channel (squeeze-and-excite).
#include "kernels/elementwise.h"
#include "kernels/runs.h"
#include "ops/elements.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Spec gate_of(const Spec& a) { return blocked(a.shape[0], a.shape[1], 1, 1, a); }

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_real(in[0]);
  if (in[1] == in[0]) return {in[0]};
  check_image(in[0], "the first factor");
  if (in[1] != gate_of(in[0]))
    refuse("the second factor is " + to_string(in[1]),
           to_string(in[0]) + " or " + to_string(gate_of(in[0])) + " is needed");
  return {in[0]};
}

Specs infer_sum(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_real_image(in[0]);
  check_same(in[1], in[0], "the second factor");
  return {gate_of(in[0])};
}

void product(const Attrs&, const Args& args) noexcept {
  const TensorView &a = args.in[0], &b = args.in[1], &y = args.out[0];
  const kernels::Runs runs(a.spec), gates(b.spec);
  const bool spreads = b.spec != a.spec;
  kernels::with_element_and_lanes(a.spec, [&]<class T, std::int64_t kLanes>() {
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T* x = runs.of<T>(a, r);
      const T* by = gates.of<T>(b, r);
      T* to = runs.of<T>(y, r);
      if (!spreads) {
        for (std::int64_t i = 0; i < runs.length_of(r); ++i) to[i] = x[i] * by[i];
        continue;
      }
      Wide<T> gate[kLanes];
      for (std::int64_t lane = 0; lane < kLanes; ++lane) gate[lane] = by[lane];
      for (std::int64_t i = 0; i < runs.length; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) to[i + lane] = x[i + lane] * gate[lane];
    }
  });
}

// Short runs of pixels are summed in the tensor's type, the runs in f64: exact enough, and fast.
void product_sums(const Attrs&, const Args& args) noexcept {
  const TensorView &a = args.in[0], &b = args.in[1], &y = args.out[0];
  const kernels::Runs runs(a.spec), gates(y.spec);
  kernels::with_element_and_lanes(a.spec, [&]<class T, std::int64_t kLanes>() {
    constexpr std::int64_t kShort = 32 * kLanes;
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T *x = runs.of<T>(a, r), *by = runs.of<T>(b, r);
      double total[kLanes] = {};
      for (std::int64_t begin = 0; begin < runs.length; begin += kShort) {
        Wide<T> sum[kLanes] = {};
        const std::int64_t end = std::min(runs.length, begin + kShort);
        for (std::int64_t i = begin; i < end; i += kLanes)
          for (std::int64_t lane = 0; lane < kLanes; ++lane)
            sum[lane] += x[i + lane] * by[i + lane];
        for (std::int64_t lane = 0; lane < kLanes; ++lane)
          total[lane] += static_cast<double>(sum[lane]);
      }
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        gates.of<T>(y, r)[lane] = static_cast<T>(total[lane]);
    }
  });
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &by = args.in[1], &y = args.out[0];
  const bool spreads = by.spec != x.spec;
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(x.spec, [&](auto a, auto b, auto c, auto d) {
      y.at<T>(a, b, c, d) = x.at<T>(a, b, c, d) * (spreads ? by.at<T>(a, b) : by.at<T>(a, b, c, d));
    });
  });
  kernels::clear_padding(y);
}

void sum_ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &by = args.in[1], &y = args.out[0];
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(y.spec, [&](auto n, auto c, auto, auto) {
      double sum = 0;
      for (std::int64_t h = 0; h < x.spec.shape[2]; ++h)
        for (std::int64_t w = 0; w < x.spec.shape[3]; ++w)
          sum +=
              static_cast<double>(x.at<T>(n, c, h, w)) * static_cast<double>(by.at<T>(n, c, h, w));
      y.at<T>(n, c) = static_cast<T>(sum);
    });
  });
  kernels::clear_padding(y);
}

Values backward(const Backward& b) {
  Values dx = b.none();
  const bool spreads = b.graph.spec(b.in(0)) != b.graph.spec(b.in(1));
  if (b.wants[0]) dx[0] = b.call1("multiply", {b.dy[0], b.in(1)});
  if (b.wants[1]) dx[1] = b.call1(spreads ? "multiply_sum" : "multiply", {b.dy[0], b.in(0)});
  return dx;
}

}  // namespace

extern const OpFamily multiply;
const OpFamily multiply{{
    {.name = "multiply",
     .doc = "Product of two tensors; the second may be [N,C,1,1], spread over the pixels.",
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}},
     .cheap_to_repeat = true,
     .cost = pass_over<1>,
     .kernels = {{"loop", plain_job<product>, kAnyElement}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 13, 5, 3)}, {blocked(2, 13, 5, 3)}}},
                 {.in = {{blocked(2, 13, 5, 3)}, {blocked(2, 13, 1, 1)}}},
                 {.in = {{blocked(3, 24, 1, 1)}, {blocked(3, 24, 1, 1)}}},
                 {.in = {{plain({3, 7})}, {plain({3, 7})}}}}},
    {.name = "multiply_sum",
     .doc = "Product of two image tensors summed over the pixels, [N,C,1,1].",
     .infer = infer_sum,
     .cost = pass_over<2>,
     .kernels = {{"loop", plain_job<product_sums>, kAnyElement},
                 {"ref", plain_job<sum_ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 13, 5, 3)}, {blocked(2, 13, 5, 3)}}},
                 {.in = {{blocked(3, 21, 9, 11)}, {blocked(3, 21, 9, 11)}}}}},
}};

}  // namespace plimsoll::ops
