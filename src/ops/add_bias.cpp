// y = x + b, one number for every channel.
#include "kernels/elementwise.h"
#include "kernels/runs.h"
#include "ops/elements.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_real_image(in[0]);
  check_same(in[1], plain({in[0].shape[1]}, widened(in[0].dtype)), "the bias");
  return {in[0]};
}

void shifted(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &bias = args.in[1], &y = args.out[0];
  const kernels::Runs runs(x.spec);
  kernels::with_element_and_lanes(x.spec, [&]<class T, std::int64_t kLanes>() {
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T* from = runs.of<T>(x, r);
      T* to = runs.of<T>(y, r);
      Wide<T> by[kLanes] = {};  // zero where lanes are padding, which therefore stays zero
      for (std::int64_t lane = 0; lane < runs.lanes_of(x.spec, r); ++lane)
        by[lane] = bias.as<Wide<T>>()[r % runs.per_image * kLanes + lane];
      for (std::int64_t i = 0; i < runs.length; i += kLanes)
        for (std::int64_t lane = 0; lane < kLanes; ++lane) to[i + lane] = from[i + lane] + by[lane];
    }
  });
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &bias = args.in[1], &y = args.out[0];
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(x.spec, [&](auto n, auto c, auto h, auto w) {
      y.at<T>(n, c, h, w) = x.at<T>(n, c, h, w) + bias.at<T>(c);
    });
  });
  kernels::clear_padding(y);
}

Values backward(const Backward& b) {
  Values dx = b.none();
  dx[0] = b.dy[0];
  if (b.wants[1]) dx[1] = b.call1("channel_sum", {b.dy[0]});
  return dx;
}

}  // namespace

extern const OpFamily add_bias;
const OpFamily add_bias{{
    {.name = "add_bias",
     .doc = "Adds to every channel a number of its own.",
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}},
     .cheap_to_repeat = true,
     .cost = pass_over<1>,
     .kernels = {{"loop", plain_job<shifted>, kAnyElement}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 13, 5, 3)}, {plain({13})}}},
                 {.in = {{blocked(3, 8, 1, 1)}, {plain({8})}}}}},
}};

}  // namespace plimsoll::ops
