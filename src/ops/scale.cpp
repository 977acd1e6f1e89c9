// y = factor * s * x, where s is a tensor of one element or absent.
#include "kernels/runs.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 1, 2);
  if (in.size() == 2) check_vector(in[1], 1, "the scale");
  return {in[0]};
}

// A seed of backward is f32 even where the tensors are f64.
double scale_of(const TensorView& s) {
  return s.spec.dtype == DType::f64 ? s.at<double>(0) : static_cast<double>(s.at<float>(0));
}

void scale_runs(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const double factor = attrs.real("factor") * (args.in.size() > 1 ? scale_of(args.in[1]) : 1.0);
  const kernels::Runs runs(x.spec);
  for_element(x.spec.dtype, [&]<class T>(T) {
    const auto by = static_cast<Wide<T>>(factor);
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T* from = runs.of<T>(x, r);
      T* to = runs.of<T>(y, r);
      for (std::int64_t i = 0; i < runs.length_of(r); ++i) to[i] = from[i] * by;
    }
  });
}

Values backward(const Backward& b) {
  Values dx = b.none();
  Values in{b.dy[0]};
  if (b.node.in.size() > 1) in.push_back(b.in(1));
  dx[0] = b.call1("scale", in, b.node.attrs);
  return dx;
}

}  // namespace

extern const OpFamily scale;
const OpFamily scale{{
    {.name = "scale",
     .doc = "Every element times a number, and times a one-element tensor where one is given.",
     .attrs = {{"factor", 1.0, "the number"}},
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}},
     .cheap_to_repeat = true,
     .cost = pass_over<1>,
     .kernels = {{"loop", plain_job<scale_runs>, kAnyElement}},
     .samples = {{.in = {{blocked(2, 13, 3, 5)}}, .attrs = {{"factor", 0.4}}},
                 {.in = {{plain({5, 7001})}, {plain({1})}}, .attrs = {{"factor", -3.0}}}}},
}};

}  // namespace plimsoll::ops
