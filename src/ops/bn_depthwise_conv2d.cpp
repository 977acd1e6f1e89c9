// A depthwise convolution of act(BatchNorm(x)), which is never stored: the kernels normalise what
// they load. fold_normalisation makes these from bn_apply and depthwise_conv2d behind autodiff, so
// they have no backward rule of their own.
#include "kernels/clear.h"
#include "kernels/depthwise.h"
#include "ops/depthwise.h"
#include "ops/normalisation.h"

namespace plimsoll::ops {
namespace {

// The parameters stand behind the two operands of the plain convolution.
void check_operands(const Attrs& attrs, std::span<const Spec> in) {
  const std::size_t count = 2 + parameter_count(attrs);
  check_count(in, count, count);
  check_real_image(in[0], "input");
  check_parameters(attrs, in, 2, in[0].shape[1]);
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_operands(attrs, in);
  return {depthwise_output(attrs, in[0], in[1])};
}

Specs infer_grad_kernel(const Attrs& attrs, std::span<const Spec> in) {
  check_operands(attrs, in);
  return {depthwise_kernel_gradient(attrs, in[0], in[1])};
}

// body(n, c, oh, ow, kh, kw, z) for every product, z being the normalised cell.
template <class T, class Body>
void for_each_normal(const Attrs& attrs, const Args& args, const Shape& w, const Shape& y,
                     Body body) {
  const TensorView& x = args.in[0];
  const std::string& activation = attrs.word("activation");
  for_each_product(attrs, x.spec.shape, w, y,
                   [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, auto ih, auto iw) {
                     const Channel<T> channel(attrs, args, 2, c);
                     const T normal = (x.at<T>(n, c, ih, iw) - channel.mean) * channel.inverse;
                     body(n, c, oh, ow, kh, kw,
                          clamped(activation, channel.gamma * normal + channel.beta));
                   });
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &w = args.in[1], &y = args.out[0];
  kernels::clear(y);
  for_real(y.spec.dtype, [&]<class T>(T) {
    for_each_normal<T>(attrs, args, w.spec.shape, y.spec.shape,
                       [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, T z) {
                         y.at<T>(n, c, oh, ow) += z * w.at<T>(c, 0, kh, kw);
                       });
  });
}

void grad_kernel_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[1], &dw = args.out[0];
  kernels::clear(dw);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for_each_normal<T>(attrs, args, dw.spec.shape, dy.spec.shape,
                       [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, T z) {
                         dw.at<T>(c, 0, kh, kw) += z * dy.at<T>(n, c, oh, ow);
                       });
  });
}

std::vector<AttrSchema> schema() {
  std::vector<AttrSchema> attrs = depthwise_schema();
  for (AttrSchema& attr : normalisation_schema()) attrs.push_back(std::move(attr));
  return attrs;
}

std::vector<AttrSchema> grad_kernel_schema() {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({"kernel", Ints{1, 1}, "rows and columns of the weights"});
  return attrs;
}

struct Case {
  Spec x;
  Extent kernel;
  Attrs attrs;

  std::vector<SampleInput> parameters() const {
    const SampleInput any{plain({x.shape[1]})};
    std::vector<SampleInput> in{any, {any.spec, SampleInput::Fill::positive}};
    for (std::size_t i = 2; i < parameter_count(attrs); ++i) in.push_back(any);
    return in;
  }
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](const Spec& x, Extent kernel, Ints strides, Ints pads,
                       const char* activation, std::int64_t scale, std::int64_t center) {
    cases.push_back({x,
                     kernel,
                     {{"strides", strides},
                      {"pads", pads},
                      {"dilations", Ints{1, 1}},
                      {"epsilon", 1e-3},
                      {"scale", scale},
                      {"center", center},
                      {"activation", std::string(activation)}}});
  };
  add(blocked(2, 10, 9, 11), {3, 3}, {1, 1}, {1, 1, 1, 1}, "relu", 1, 1);
  add(blocked(1, 33, 9, 9), {3, 3}, {2, 2}, {0, 0, 0, 0}, "relu6", 1, 1);
  add(blocked(3, 13, 8, 7), {3, 3}, {2, 2}, {0, 1, 1, 0}, "none", 0, 1);
  add(blocked(2, 10, 8, 9), {5, 5}, {1, 1}, {2, 2, 2, 2}, "relu", 1, 0);
  add(blocked(2, 8, 2, 1), {3, 3}, {1, 1}, {1, 1, 1, 1}, "relu6", 0, 0);
  return cases;
}

Sample sample_of(const Case& c, const Spec& second, const Attrs& attrs) {
  Sample sample{.in = {{c.x}, {second}}, .attrs = attrs};
  for (const SampleInput& parameter : c.parameters()) sample.in.push_back(parameter);
  return sample;
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back(sample_of(c, depth_kernel_spec(c.x, c.kernel), c.attrs));
  return samples;
}

std::vector<Sample> grad_kernel_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back(sample_of(c, depthwise_output(c.attrs, c.x, depth_kernel_spec(c.x, c.kernel)),
                                with(c.attrs, "kernel", Ints{c.kernel.h, c.kernel.w})));
  return samples;
}

}  // namespace

extern const OpFamily bn_depthwise_conv2d;
const OpFamily bn_depthwise_conv2d{{
    {.name = "bn_depthwise_conv2d",
     .doc = "Normalises every channel, applies an activation, convolves it with its own filter.",
     .attrs = schema(),
     .infer = infer_forward,
     .arithmetic = Arithmetic::forward,
     .cheap_to_repeat = true,
     .cost = depthwise_forward_cost,
     .kernels = {{"simd", plain_job<kernels::bn_depthwise>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "bn_depthwise_conv2d_grad_kernel",
     .doc = "The gradient of the weights of a depthwise convolution of a normalised input.",
     .attrs = grad_kernel_schema(),
     .infer = infer_grad_kernel,
     .arithmetic = Arithmetic::grad_weights,
     .cost = depthwise_kernel_cost,
     .kernels = {{"simd", plain_job<kernels::bn_depthwise_grad_kernel>, kShort},
                 {"ref", plain_job<grad_kernel_ref>, kAnyReal}},
     .samples = grad_kernel_samples()},
}};

}  // namespace plimsoll::ops
