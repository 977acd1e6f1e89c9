// A depthwise convolution of act(BatchNorm(x)), which is never stored: the kernels normalise what
// they load. fold_normalisation makes these from bn_apply and depthwise_conv2d behind autodiff, so
// they have no backward rule of their own.
#include "kernels/clear.h"
#include "kernels/depthwise.h"
#include "ops/depthwise.h"
#include "ops/normalisation.h"

namespace plimsoll::ops {
namespace {

// Checks x, one more operand and the parameters.
void check_operands(const Attrs& attrs, std::span<const Spec> in) {
  const std::size_t count = 2 + parameter_count(attrs);
  check_count(in, count, count);
  check_real_image(in[0], "input");
  check_parameters(attrs, in, 2, in[0].shape[1]);
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_operands(attrs, in);
  const Spec &x = in[0], &w = in[1];
  check_depth_kernel(x, w);
  const Extent out = count_windows(attrs, {x.shape[2], x.shape[3]}, {w.shape[2], w.shape[3]});
  return {blocked(x.shape[0], x.shape[1], out.h, out.w, x.dtype)};
}

Specs infer_grad_kernel(const Attrs& attrs, std::span<const Spec> in) {
  check_operands(attrs, in);
  const Spec &x = in[0], &dy = in[1];
  check_real_image(dy, "the output gradient");
  const Extent kernel = extent_of(attrs, "kernel");
  check_windows(attrs, dy, {x.shape[2], x.shape[3]}, kernel);
  check_same(dy, blocked(x.shape[0], x.shape[1], dy.shape[2], dy.shape[3], x.dtype),
             "the output gradient");
  return {depth_kernel_spec(x, kernel)};
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

Cost cost_forward(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return depthwise_cost(attrs, in, out, in[1], out[0]);
}
Cost cost_grad_kernel(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return depthwise_cost(attrs, in, out, out[0], in[1]);
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

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    Sample sample{.in = {{c.x}, {depth_kernel_spec(c.x, c.kernel)}}, .attrs = c.attrs};
    for (const SampleInput& parameter : c.parameters()) sample.in.push_back(parameter);
    samples.push_back(sample);
  }
  return samples;
}

std::vector<Sample> grad_kernel_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    const Extent out =
        count_windows(c.attrs, {c.x.shape[2], c.x.shape[3]}, {c.kernel.h, c.kernel.w});
    Sample sample{.in = {{c.x}, {blocked(c.x.shape[0], c.x.shape[1], out.h, out.w)}},
                  .attrs = with(c.attrs, "kernel", Ints{c.kernel.h, c.kernel.w})};
    for (const SampleInput& parameter : c.parameters()) sample.in.push_back(parameter);
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

extern const OpFamily bn_depthwise_conv2d;
const OpFamily bn_depthwise_conv2d{{
    {.name = "bn_depthwise_conv2d",
     .doc = "Normalises every channel, applies an activation, convolves it with its own filter.",
     .attrs = schema(),
     .infer = infer_forward,
     .cheap_to_repeat = true,
     .cost = cost_forward,
     .kernels = {{"avx2", f32_job<kernels::bn_depthwise>}, {"ref", plain_job<forward_ref>}},
     .samples = forward_samples()},
    {.name = "bn_depthwise_conv2d_grad_kernel",
     .doc = "The gradient of the weights of a depthwise convolution of a normalised input.",
     .attrs = grad_kernel_schema(),
     .infer = infer_grad_kernel,
     .cost = cost_grad_kernel,
     .kernels = {{"avx2", f32_job<kernels::bn_depthwise_grad_kernel>},
                 {"ref", plain_job<grad_kernel_ref>}},
     .samples = grad_kernel_samples()},
}};

}  // namespace plimsoll::ops
