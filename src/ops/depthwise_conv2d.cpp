// Each channel convolved by itself; a ReLU on the input can be taken along for free.
#include "kernels/depthwise.h"

#include "kernels/clear.h"
#include "ops/depthwise.h"

namespace plimsoll::ops {
namespace {

void check_activation(const Attrs& attrs) {
  const std::string& kind = attrs.word("input_activation");
  if (kind != "none" && kind != "relu")
    refuse("input_activation is '" + kind + "'", "none or relu is needed");
}

bool rectifies(const Attrs& attrs) { return attrs.word("input_activation") == "relu"; }

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_activation(attrs);
  return {depthwise_output(attrs, in[0], in[1])};
}

Specs infer_grad_input(const Attrs& attrs, std::span<const Spec> in) {
  check_activation(attrs);
  const std::size_t count = rectifies(attrs) ? 3 : 2;
  check_count(in, count, count);
  const Spec &dy = in[0], &w = in[1];
  check_real_image(dy, "the output gradient");
  check_depth_kernel(dy, w);
  const Extent size = extent_of(attrs, "input");
  check_windows(attrs, dy, size, {w.shape[2], w.shape[3]});
  const Spec dx = blocked(dy.shape[0], dy.shape[1], size.h, size.w, dy);
  if (count == 3) check_same(in[2], dx, "the saved input");
  return {dx};
}

Specs infer_grad_kernel(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_activation(attrs);
  return {depthwise_kernel_gradient(attrs, in[0], in[1])};
}

template <class T>
T activated(bool relu, T x) {
  return relu && !(x > 0) ? T(0) : x;
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  const bool relu = rectifies(attrs);
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_product(attrs, x.spec.shape, w.spec.shape, y.spec.shape,
                     [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, auto ih, auto iw) {
                       y.at<T>(n, c, oh, ow) +=
                           activated(relu, x.at<T>(n, c, ih, iw)) * w.at<T>(c, 0, kh, kw);
                     });
  });
}

void grad_input_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for_each_product(attrs, dx.spec.shape, w.spec.shape, dy.spec.shape,
                     [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, auto ih, auto iw) {
                       if (args.in.size() < 3 || args.in[2].at<T>(n, c, ih, iw) > 0)
                         dx.at<T>(n, c, ih, iw) += dy.at<T>(n, c, oh, ow) * w.at<T>(c, 0, kh, kw);
                     });
  });
}

void grad_kernel_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
  const bool relu = rectifies(attrs);
  kernels::clear(dw);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for_each_product(attrs, x.spec.shape, dw.spec.shape, dy.spec.shape,
                     [&](auto n, auto c, auto oh, auto ow, auto kh, auto kw, auto ih, auto iw) {
                       dw.at<T>(c, 0, kh, kw) +=
                           activated(relu, x.at<T>(n, c, ih, iw)) * dy.at<T>(n, c, oh, ow);
                     });
  });
}

// The kernel's gradient first: unless x was rectified, it is the last that reads x.
Values backward(const Backward& b) {
  Values grads = b.none();
  const Attrs& attrs = b.node.attrs;
  if (b.wants[1])
    grads[1] = b.call1("depthwise_conv2d_grad_kernel", {b.in(0), b.dy[0]},
                       with(attrs, "kernel", image_size(b.graph.spec(b.in(1)))));
  if (b.wants[0]) {
    Values in{b.dy[0], b.in(1)};
    if (rectifies(attrs)) in.push_back(b.in(0));
    grads[0] = b.call1("depthwise_conv2d_grad_input", in,
                       with(attrs, "input", image_size(b.graph.spec(b.in(0)))));
  }
  return grads;
}

Cost cost_grad_input(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return depthwise_cost(attrs, in, out, in[1], in[0]);
}

std::vector<AttrSchema> schema() {
  std::vector<AttrSchema> attrs = depthwise_schema();
  attrs.push_back(
      {"input_activation", std::string("none"), "none, or relu: the input is rectified first"});
  return attrs;
}

std::vector<AttrSchema> schema_with(const char* name, const char* doc) {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({name, Ints{1, 1}, doc});
  return attrs;
}

struct Case {
  Spec x;
  Extent kernel;
  Attrs attrs;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](const Spec& x, Extent kernel, Ints strides, Ints pads,
                       Ints dilations = {1, 1}) {
    for (const char* activation : {"none", "relu"})
      cases.push_back({x,
                       kernel,
                       {{"strides", strides},
                        {"pads", pads},
                        {"dilations", dilations},
                        {"input_activation", std::string(activation)}}});
  };
  add(blocked(2, 10, 9, 11), {3, 3}, {1, 1}, {1, 1, 1, 1});
  add(blocked(1, 33, 9, 9), {3, 3}, {2, 2}, {0, 0, 0, 0});
  add(blocked(3, 13, 8, 7), {3, 3}, {2, 2}, {0, 1, 1, 0});
  add(blocked(1, 8, 10, 10), {3, 3}, {2, 2}, {1, 1, 1, 1});
  add(blocked(2, 16, 7, 8), {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2});
  add(blocked(1, 8, 9, 9), {3, 3}, {2, 2}, {2, 2, 2, 2}, {2, 2});
  add(blocked(2, 10, 8, 9), {5, 5}, {1, 1}, {2, 2, 2, 2});
  add(blocked(1, 8, 11, 11), {5, 5}, {2, 2}, {1, 2, 2, 1});
  add(blocked(1, 13, 5, 9), {1, 7}, {1, 1}, {0, 3, 0, 3});
  add(blocked(2, 8, 2, 1), {3, 3}, {1, 1}, {1, 1, 1, 1});
  return cases;
}

Spec output_of(const Case& c) {
  return depthwise_output(c.attrs, c.x, depth_kernel_spec(c.x, c.kernel));
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back({.in = {{c.x}, {depth_kernel_spec(c.x, c.kernel)}}, .attrs = c.attrs});
  return samples;
}

std::vector<Sample> grad_input_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    Sample sample{.in = {{output_of(c)}, {depth_kernel_spec(c.x, c.kernel)}},
                  .attrs = with(c.attrs, "input", image_size(c.x))};
    if (rectifies(c.attrs)) sample.in.push_back({c.x});
    samples.push_back(sample);
  }
  return samples;
}

std::vector<Sample> grad_kernel_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back({.in = {{c.x}, {output_of(c)}},
                       .attrs = with(c.attrs, "kernel", Ints{c.kernel.h, c.kernel.w})});
  return samples;
}

}  // namespace

extern const OpFamily depthwise_conv2d;
const OpFamily depthwise_conv2d{{
    {.name = "depthwise_conv2d",
     .doc = "Convolution of each channel with its own filter.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .arithmetic = Arithmetic::forward,
     .cheap_to_repeat = true,
     .absorbs = {.padding = true, .input_relu = true, .normalised = "bn_depthwise_conv2d"},
     .framework_holds = FrameworkHolds::input,
     .cost = depthwise_forward_cost,
     .kernels = {{"simd", plain_job<kernels::depthwise>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "depthwise_conv2d_grad_input",
     .doc = "The gradient of a depthwise convolution's input; of a rectified one, the saved input "
            "says "
            "where it was positive.",
     .attrs = schema_with("input", "rows and columns of the input"),
     .infer = infer_grad_input,
     .arithmetic = Arithmetic::grad_input,
     .cost = cost_grad_input,
     .kernels = {{"simd", plain_job<kernels::depthwise_grad_input>, kShort},
                 {"ref", plain_job<grad_input_ref>, kAnyReal}},
     .samples = grad_input_samples()},
    {.name = "depthwise_conv2d_grad_kernel",
     .doc = "The gradient of a depthwise convolution's weights.",
     .attrs = schema_with("kernel", "rows and columns of the weights"),
     .infer = infer_grad_kernel,
     .arithmetic = Arithmetic::grad_weights,
     .absorbs = {.normalised = "bn_depthwise_conv2d_grad_kernel"},
     .cost = depthwise_kernel_cost,
     .kernels = {{"simd", plain_job<kernels::depthwise_grad_kernel>, kShort},
                 {"ref", plain_job<grad_kernel_ref>, kAnyReal}},
     .samples = grad_kernel_samples()},
}};

}  // namespace plimsoll::ops
