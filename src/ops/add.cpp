// y = a + b + ... + last_factor * z
#include "kernels/elementwise.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  if (in.size() < 2) refuse(std::to_string(in.size()) + " terms", "at least two are needed");
  for (const Spec& spec : in) check_same(spec, in[0], "a term");
  if (widened(in[0].dtype) != DType::f32 && in[0].dtype != DType::f64)
    refuse("terms are " + to_string(in[0]), "real numbers are needed");
  return {in[0]};
}

void ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView& y = args.out[0];
  for_real(y.spec.dtype, [&]<class T>(T) {
    const auto factor = static_cast<T>(attrs.real("last_factor"));
    for_each_element(y.spec, [&](auto a, auto b, auto c, auto d) {
      T sum = 0;
      for (std::size_t t = 0; t + 1 < args.in.size(); ++t) sum += args.in[t].at<T>(a, b, c, d);
      y.at<T>(a, b, c, d) = sum + factor * args.in.back().at<T>(a, b, c, d);
    });
  });
  kernels::clear_padding(y);
}

Values backward(const Backward& b) {
  Values dx(b.node.in.size(), b.dy[0]);
  if (b.node.attrs.real("last_factor") != 1 && b.wants.back())
    dx.back() = b.call1("scale", {b.dy[0]}, {{"factor", b.node.attrs.real("last_factor")}});
  return dx;
}

}  // namespace

extern const OpFamily add;
const OpFamily add{{
    {.name = "add",
     .doc = "Sum of tensors of one shape, the last times a factor.",
     .attrs = {{"last_factor", 1.0, "multiplies the last term"}},
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}},
     .cheap_to_repeat = true,
     .form = Form::sum,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::add>, kShort}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 13, 5, 3)}, {blocked(2, 13, 5, 3)}}},
                 {.in = {{plain({1})}, {plain({1})}, {plain({1})}}},
                 {.in = {{plain({5, 7})}, {plain({5, 7})}}, .attrs = {{"last_factor", 0.17}}}}},
}};

}  // namespace plimsoll::ops
