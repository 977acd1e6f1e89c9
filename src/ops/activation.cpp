// y = f(x), elementwise: relu, relu6, leaky_relu, sigmoid, swish, tanh.
#include <cmath>

#include "base/error.h"
#include "kernels/elementwise.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

using kernels::Curve;

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  if (!kernels::find_curve(attrs.word("kind")))
    refuse("kind is '" + attrs.word("kind") + "'",
           "one of relu, relu6, leaky_relu, sigmoid, swish, tanh is needed");
  return {in[0]};
}

Specs infer_grad(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_same(in[1], in[0], "the saved tensor");
  return {in[0]};
}

template <class T>
T curve_at(Curve curve, T x, T alpha) {
  switch (curve) {
    case Curve::relu: return x > 0 ? x : T(0);
    case Curve::relu6: return x > 0 ? (x < 6 ? x : T(6)) : T(0);
    case Curve::leaky_relu: return x > 0 ? x : alpha * x;
    case Curve::sigmoid: return 1 / (1 + std::exp(-x));
    case Curve::swish: return x / (1 + std::exp(-x));
    case Curve::tanh: return std::tanh(x);
  }
  bug("curve out of range");
}

// Slope in terms of the saved value: y, except for swish, which needs x.
template <class T>
T slope_at(Curve curve, T saved, T alpha) {
  switch (curve) {
    case Curve::relu: return saved > 0 ? T(1) : T(0);
    case Curve::relu6: return saved > 0 && saved < 6 ? T(1) : T(0);
    case Curve::leaky_relu: return saved > 0 ? T(1) : alpha;
    case Curve::sigmoid: return saved * (1 - saved);
    case Curve::swish: {
      const T s = 1 / (1 + std::exp(-saved));
      return s * (1 + saved * (1 - s));
    }
    case Curve::tanh: return 1 - saved * saved;
  }
  bug("curve out of range");
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const Curve curve = *kernels::find_curve(attrs.word("kind"));
  const TensorView &x = args.in[0], &y = args.out[0];
  for_real(x.spec.dtype, [&]<class T>(T) {
    const T alpha = static_cast<T>(attrs.real("alpha"));
    kernels::clear_padding(y);
    for_each_element(x.spec, [&](auto a, auto b, auto c, auto d) {
      y.at<T>(a, b, c, d) = curve_at<T>(curve, x.at<T>(a, b, c, d), alpha);
    });
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const Curve curve = *kernels::find_curve(attrs.word("kind"));
  const TensorView &dy = args.in[0], &saved = args.in[1], &dx = args.out[0];
  for_real(dy.spec.dtype, [&]<class T>(T) {
    const T alpha = static_cast<T>(attrs.real("alpha"));
    kernels::clear_padding(dx);
    for_each_element(dy.spec, [&](auto a, auto b, auto c, auto d) {
      dx.at<T>(a, b, c, d) =
          dy.at<T>(a, b, c, d) * slope_at<T>(curve, saved.at<T>(a, b, c, d), alpha);
    });
  });
}

// In terms of y wherever that suffices: then x dies with the forward pass and y may overwrite it.
Values backward(const Backward& b) {
  const ValueId saved = b.node.attrs.word("kind") == "swish" ? b.in(0) : b.out(0);
  return {b.call1("activation_grad", {b.dy[0], saved}, b.node.attrs)};
}

std::vector<AttrSchema> schema() {
  return {{"kind", std::string("relu"), "relu, relu6, leaky_relu, sigmoid, swish or tanh"},
          {"alpha", 0.3, "slope of leaky_relu below zero"}};
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const char* kind : {"relu", "relu6", "leaky_relu", "sigmoid", "swish", "tanh"}) {
    const Attrs attrs{{"kind", std::string(kind)}};
    samples.push_back({.in = {{blocked(2, 13, 5, 3)}}, .attrs = attrs});
    samples.push_back({.in = {{plain({3, 7})}}, .attrs = attrs});
  }
  samples.push_back({.in = {{plain({5, 7001})}}});  // more than one run
  return samples;
}

std::vector<Sample> grad_samples() {
  std::vector<Sample> samples = forward_samples();
  for (Sample& sample : samples) sample.in.push_back(sample.in[0]);
  return samples;
}

}  // namespace

extern const OpFamily activation;
const OpFamily activation{{
    {.name = "activation",
     .doc = "A curve applied to every element.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}},
     .cheap_to_repeat = true,
     .form = Form::activation,
     .framework_holds = FrameworkHolds::output,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::activation>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "activation_grad",
     .doc = "dx = dy * slope, from the saved output (swish: the saved input).",
     .attrs = schema(),
     .infer = infer_grad,
     .in_place = {{.out = 0, .over = 0}},
     .cost = pass_over<2>,
     .kernels = {{"simd", plain_job<kernels::activation_grad>, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = grad_samples()},
}};

}  // namespace plimsoll::ops
