// Mean or maximum over all cells of an image, one number per channel.
#include "kernels/global_pool.h"

#include "kernels/clear.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

void check_kind(const Attrs& attrs) {
  const std::string& kind = attrs.word("kind");
  if (kind != "avg" && kind != "max") refuse("kind is '" + kind + "'", "avg or max is needed");
}

Spec pooled(const Attrs& attrs, const Spec& x) {
  if (attrs.flag("keepdims")) return blocked(x.shape[0], x.shape[1], 1, 1, x);
  return plain({x.shape[0], x.shape[1]}, widened(x.dtype));
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real_image(in[0]);
  check_kind(attrs);
  return {pooled(attrs, in[0])};
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  check_kind(attrs);
  const bool mean = attrs.word("kind") == "avg";
  check_count(in, mean ? 1 : 3, mean ? 1 : 3);
  const Spec& dy = in[0];
  if (dy.shape.rank() != 2 && dy.shape.rank() != 4)
    refuse("the output gradient is " + to_string(dy), "[N,C] or [N,C,1,1] is needed");
  const Extent size = extent_of(attrs, "input");
  const Spec dx = blocked(dy.shape[0], dy.shape[1], size.h, size.w, image_type(attrs, dy.dtype),
                          dy.layout == Layout::blocked ? dy.lanes : image_lanes(attrs));
  check_same(dy, pooled(attrs, dx), "the output gradient");
  if (!mean) {
    check_same(in[1], dx, "the saved input");
    check_same(in[2], dy, "the saved output");
  }
  return {dx};
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const bool mean = attrs.word("kind") == "avg";
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        T sum = 0, best = x.at<T>(n, c, 0, 0);
        for (std::int64_t h = 0; h < shape[2]; ++h)
          for (std::int64_t w = 0; w < shape[3]; ++w) {
            const T value = x.at<T>(n, c, h, w);
            sum += value;
            best = value > best ? value : best;
          }
        y.at<T>(n, c) = mean ? sum / static_cast<T>(shape[2] * shape[3]) : best;
      }
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  const Shape& shape = dx.spec.shape;
  const bool mean = attrs.word("kind") == "avg";
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        bool placed = false;
        for (std::int64_t h = 0; h < shape[2]; ++h)
          for (std::int64_t w = 0; w < shape[3]; ++w) {
            if (mean) {
              dx.at<T>(n, c, h, w) = dy.at<T>(n, c) / static_cast<T>(shape[2] * shape[3]);
            } else if (!placed && args.in[1].at<T>(n, c, h, w) == args.in[2].at<T>(n, c)) {
              dx.at<T>(n, c, h, w) = dy.at<T>(n, c);
              placed = true;
            }
          }
      }
  });
}

Values backward(const Backward& b) {
  const Spec& x = b.graph.spec(b.in(0));
  const Attrs attrs =
      with(with(with(b.node.attrs, "input", image_size(x)), "image", image_type_word(x.dtype)),
           "lanes", x.lanes);
  if (attrs.word("kind") == "avg") return {b.call1("global_pool_grad", {b.dy[0]}, attrs)};
  return {b.call1("global_pool_grad", {b.dy[0], b.in(0), b.out(0)}, attrs)};
}

std::vector<AttrSchema> schema() {
  return {
      {"kind", std::string("avg"), "avg or max"},
      {"keepdims", std::int64_t{0}, "1: the result is an image [N,C,1,1], else a matrix [N,C]"}};
}

std::vector<AttrSchema> grad_schema() {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({"input", Ints{1, 1}, "rows and columns of the input"});
  attrs.push_back(image_type_schema());
  attrs.push_back(image_lanes_schema());
  return attrs;
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const char* kind : {"avg", "max"})
    for (std::int64_t keepdims : {0, 1}) {
      const Attrs attrs{{"kind", std::string(kind)}, {"keepdims", keepdims}};
      samples.push_back({.in = {{blocked(3, 10, 7, 5)}}, .attrs = attrs});
      samples.push_back({.in = {{blocked(1, 33, 9, 13)}}, .attrs = attrs});
    }
  return samples;
}

// For a maximum, cells of x that equal y are rare in random data; a tensor of ones is all ties.
std::vector<Sample> grad_samples() {
  std::vector<Sample> samples;
  for (const Sample& forward : forward_samples()) {
    const Spec& x = forward.in[0].spec;
    const Spec y = pooled(forward.attrs, x);
    Sample sample{.in = {{y}}, .attrs = with(forward.attrs, "input", image_size(x))};
    if (forward.attrs.word("kind") == "max") {
      sample.in.push_back({.spec = x, .fill = SampleInput::Fill::one});
      sample.in.push_back({.spec = y, .fill = SampleInput::Fill::one});
    }
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

extern const OpFamily global_pool;
const OpFamily global_pool{{
    {.name = "global_pool",
     .doc = "Mean or maximum over all cells of an image.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .cheap_to_repeat = true,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::global_pool>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "global_pool_grad",
     .doc = "Spreads the gradient over the cells (avg), or hands it to the first maximum (max; "
            "reads the "
            "saved input and output).",
     .attrs = grad_schema(),
     .infer = infer_grad,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::global_pool_grad>, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = grad_samples()},
}};

}  // namespace plimsoll::ops
