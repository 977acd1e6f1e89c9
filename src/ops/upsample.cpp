// An image enlarged by repeating each cell: nearest neighbour, whole factors.
#include "kernels/upsample.h"

#include "kernels/clear.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real_image(in[0]);
  const Extent scale = extent_of(attrs, "scale");
  const Shape& x = in[0].shape;
  return {blocked(x[0], x[1], x[2] * scale.h, x[3] * scale.w, in[0])};
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real_image(in[0], "the output gradient");
  const Extent scale = extent_of(attrs, "scale");
  const Shape& dy = in[0].shape;
  if (dy[2] % scale.h != 0 || dy[3] % scale.w != 0)
    refuse("the output gradient is " + to_string(in[0]), "a multiple of the scale is needed");
  return {blocked(dy[0], dy[1], dy[2] / scale.h, dy[3] / scale.w, in[0])};
}

// body(n, c, row and column of the large image, row and column of the small one).
template <class Body>
void for_each_cell(const Attrs& attrs, const Shape& large, Body body) {
  const std::int64_t scale_h = attrs.ints("scale")[0], scale_w = attrs.ints("scale")[1];
  for (std::int64_t n = 0; n < large[0]; ++n)
    for (std::int64_t c = 0; c < large[1]; ++c)
      for (std::int64_t h = 0; h < large[2]; ++h)
        for (std::int64_t w = 0; w < large[3]; ++w) body(n, c, h, w, h / scale_h, w / scale_w);
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_cell(attrs, y.spec.shape, [&](auto n, auto c, auto oh, auto ow, auto ih, auto iw) {
      y.at<T>(n, c, oh, ow) = x.at<T>(n, c, ih, iw);
    });
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for_each_cell(attrs, dy.spec.shape, [&](auto n, auto c, auto oh, auto ow, auto ih, auto iw) {
      dx.at<T>(n, c, ih, iw) += dy.at<T>(n, c, oh, ow);
    });
  });
}

Values backward(const Backward& b) { return {b.call1("upsample_grad", {b.dy[0]}, b.node.attrs)}; }

std::vector<AttrSchema> schema() {
  return {{"scale", Ints{2, 2}, "how often each row and column is repeated"}};
}

}  // namespace

extern const OpFamily upsample;
const OpFamily upsample{{
    {.name = "upsample",
     .doc = "Repeats rows and columns.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"simd", plain_job<kernels::upsample>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 10, 5, 7)}}},
                 {.in = {{blocked(1, 33, 3, 2)}}, .attrs = {{"scale", Ints{3, 1}}}}}},
    {.name = "upsample_grad",
     .doc = "Sums the gradients of each cell's copies.",
     .attrs = schema(),
     .infer = infer_grad,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::upsample_grad>, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = {{.in = {{blocked(2, 10, 6, 8)}}},
                 {.in = {{blocked(1, 13, 9, 2)}}, .attrs = {{"scale", Ints{3, 1}}}}}},
}};

}  // namespace plimsoll::ops
