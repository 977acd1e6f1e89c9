// The elements of every sample, counted as Keras does, in another shape.
#include "kernels/elementwise.h"
#include "ops/elements.h"
#include "ops/keras_order.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real(in[0]);
  const Shape& s = in[0].shape;
  const bool image =
      s.rank() == 4 && (in[0].layout == Layout::plain || in[0].layout == Layout::blocked);
  if (!image) check_matrix(in[0]);
  const Ints& dims = attrs.ints("shape");
  if (dims.size() != 2 && dims.size() != 4)
    refuse("a shape of rank " + std::to_string(dims.size()), "2 or 4 are needed");
  const bool to_image = dims.size() == 4;
  Spec out{.dtype = to_image ? image_type(attrs, in[0].dtype) : widened(in[0].dtype),
           .shape = {},
           .layout = to_image ? Layout::blocked : Layout::plain,
           .lanes = in[0].layout == Layout::blocked ? in[0].lanes : image_lanes(attrs)};
  // What must divide out is compared step by step, so that no product can overflow.
  std::int64_t rest = s.elements();
  for (std::int64_t dim : dims) {
    if (dim < 1 || rest % dim != 0)
      refuse("shape is " + to_string(AttrValue(dims)),
             "one of the elements of " + to_string(in[0]) + " is needed");
    rest /= dim;
    out.shape.append(dim);
  }
  if (rest != 1 || dims[0] != s[0])
    refuse("shape is " + to_string(AttrValue(dims)),
           "the batch and all elements of " + to_string(in[0]) + " are needed");
  return {out};
}

template <class From, class To>
void copy_samples(const TensorView& x, const TensorView& y) {
  const std::int64_t per_sample = x.spec.shape.elements() / x.spec.shape[0];
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < x.spec.shape[0]; ++n) {
    KerasWalk from(x.spec), to(y.spec);
    std::int64_t length = 0;
    for (std::int64_t e = 0; e < per_sample; e += length) {
      length = std::min(from.contiguous(), to.contiguous());
      std::copy_n(x.image<From>(n) + from.offset(), length, y.image<To>(n) + to.offset());
      from.advance(length);
      to.advance(length);
    }
  }
}

// Between images and matrices elements may change their type.
void copy_runs(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  if (x.spec.dtype == y.spec.dtype)
    for_element(x.spec.dtype, [&]<class T>(T) { copy_samples<T, T>(x, y); });
  else if (x.spec.dtype == DType::bf16)
    copy_samples<Bf16, float>(x, y);
  else
    copy_samples<float, Bf16>(x, y);
  kernels::clear_padding(y);
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& to = y.spec.shape;
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(x.spec, [&](auto n, auto c, auto h, auto w) {
      const std::int64_t e = keras_index(x.spec, c, h, w);
      const std::int64_t pixel = e / to[1];
      const std::int64_t columns = to.rank() == 4 ? to[3] : 1;
      y.at<T>(n, e % to[1], pixel / columns, pixel % columns) = x.at<T>(n, c, h, w);
    });
  });
  kernels::clear_padding(y);
}

// Images come back blocked; a plain one needs one more move.
Values backward(const Backward& b) {
  const Spec& x = b.graph.spec(b.in(0));
  const ValueId dx = b.call1("reshape", {b.dy[0]},
                             {{"shape", Ints(x.shape.begin(), x.shape.end())},
                              {"image", image_type_word(x.dtype)},
                              {"lanes", x.lanes}});
  if (x.shape.rank() == 2 || x.layout == Layout::blocked) return {dx};
  return {b.call1("reorder", {dx}, {{"to", std::string("plain")}})};
}

std::vector<Sample> samples() {
  const auto to = [](Ints shape) { return Attrs{{"shape", std::move(shape)}}; };
  return {{.in = {{blocked(2, 13, 3, 5)}}, .attrs = to({2, 195})},
          {.in = {{blocked(3, 16, 1, 1)}}, .attrs = to({3, 16})},
          {.in = {{plain({2, 195})}}, .attrs = to({2, 13, 3, 5})},
          {.in = {{blocked(2, 12, 3, 5)}}, .attrs = to({2, 18, 5, 2})},
          {.in = {{plain({3, 21})}}, .attrs = to({3, 21})},
          {.in = {{plain({2, 3, 5, 4})}}, .attrs = to({2, 60})}};
}

}  // namespace

extern const OpFamily reshape;
const OpFamily reshape{{
    {.name = "reshape",
     .doc = "Every sample's elements in another shape, counted as Keras does: channels fastest.",
     .attrs = {{"shape", Ints{1, 1}, "[N,K], or [N,C,H,W] for a blocked image; N stays"},
               image_type_schema(),
               image_lanes_schema()},
     .infer = infer,
     .backward = backward,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"copy", plain_job<copy_runs>, kAnyElement}, {"ref", plain_job<ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
