#include "kernels/onednn/convolution_primitive.h"

#include <utility>

namespace plimsoll::kernels::onednn {
namespace {

// Padding behind the image that windows really touch; negative where cells at the end are not read.
std::int64_t padding_after(const Slide& s) {
  return (s.out - 1) * s.stride + (s.kernel - 1) * s.dilation + 1 - s.in - s.before;
}

// oneDNN's names for our layouts; weights of groups have names of their own.
struct WeightTags {
  dnnl_format_tag_t single, grouped;
};
struct Tags {
  dnnl_format_tag_t images;
  WeightTags kernel, turned, stem;
};

const Tags& tags_of(const ConvolutionShape& shape) {
  static constexpr Tags kNarrow{dnnl_nChw8c,
                                {dnnl_OIhw8i8o, dnnl_gOIhw8i8o},
                                {dnnl_OIhw8o8i, dnnl_gOIhw8o8i},
                                {dnnl_Ohwi8o, dnnl_gOhwi8o}};
  static constexpr Tags kWide{dnnl_nChw16c,
                              {dnnl_OIhw16i16o, dnnl_gOIhw16i16o},
                              {dnnl_OIhw16o16i, dnnl_gOIhw16o16i},
                              {dnnl_Ohwi16o, dnnl_gOhwi16o}};
  return shape.lanes == kWideLanes ? kWide : kNarrow;
}

// The same of weights that products of bf16 take: two of those that are added up side by side.
const Tags& paired_tags_of(const ConvolutionShape& shape) {
  static constexpr Tags kPaired{dnnl_nChw16c,
                                {dnnl_OIhw8i16o2i, dnnl_gOIhw8i16o2i},
                                {dnnl_OIhw8o16i2o, dnnl_gOIhw8o16i2o},
                                {dnnl_OhwI16o2i, dnnl_gOhwI16o2i}};
  static constexpr Tags kPairedPoint{dnnl_nChw16c,
                                     {dnnl_OIhw8i16o2i, dnnl_gOIhw8i16o2i},
                                     {dnnl_IOhw8o16i2o, dnnl_gIOhw8o16i2o},
                                     {dnnl_OhwI16o2i, dnnl_gOhwI16o2i}};
  return is_point(shape) ? kPairedPoint : kPaired;
}

Descriptor describe_pass(const ConvolutionShape& s, Pass pass, std::int64_t images) {
  const Slide &h = s.window.h, &w = s.window.w;
  const dnnl_data_type_t type = s.multiplies_short ? dnnl_bf16 : dnnl_f32;
  // Gradients of weights are sums, and f32 as those are.
  const Tags& sums = tags_of(s);
  const Tags& tags = s.multiplies_short ? paired_tags_of(s) : sums;
  const auto x =
      describe({images, s.channels, h.in, w.in}, s.plain_input ? dnnl_nchw : tags.images, type);
  const auto y = describe({images, s.filters, h.out, w.out}, tags.images, type);
  const auto weights = [&](const WeightTags& order, dnnl_data_type_t elements) {
    if (s.groups == 1)
      return describe({s.filters, s.channels, h.kernel, w.kernel}, order.single, elements);
    return describe({s.groups, s.filters / s.groups, s.channels / s.groups, h.kernel, w.kernel},
                    order.grouped, elements);
  };
  const auto kernel = weights(s.plain_input ? tags.stem : tags.kernel, type);
  const auto bias = describe({s.filters}, dnnl_x);
  const dnnl_dims_t strides = {h.stride, w.stride};
  const dnnl_dims_t dilates = {h.dilation - 1, w.dilation - 1};
  const dnnl_dims_t before = {h.before, w.before};
  const dnnl_dims_t after = {padding_after(h), padding_after(w)};

  dnnl_convolution_desc_t op;
  if (dnnl_dilated_convolution_forward_desc_init(
          &op, dnnl_forward_training, dnnl_convolution_direct, &x, &kernel,
          s.bias > 0 ? &bias : nullptr, &y, strides, dilates, before, after) != dnnl_success)
    return nullptr;
  Descriptor forward = make_descriptor(&op);
  if (pass == Pass::forward || forward == nullptr) return forward;

  dnnl_status_t status = dnnl_success;
  if (pass == Pass::grad_input) {
    const auto turned = weights(tags.turned, type);
    status = dnnl_dilated_convolution_backward_data_desc_init(
        &op, dnnl_convolution_direct, &x, &turned, &y, strides, dilates, before, after);
  } else {
    const auto summed = weights(s.plain_input ? sums.stem : sums.kernel, dnnl_f32);
    status = dnnl_dilated_convolution_backward_weights_desc_init(
        &op, dnnl_convolution_direct, &x, &summed, nullptr, &y, strides, dilates, before, after);
  }
  return status == dnnl_success ? make_descriptor(&op, forward.get()) : nullptr;
}

ConvolutionShape turned(ConvolutionShape s) {
  std::swap(s.channels, s.filters);
  return s;
}

}  // namespace

bool turns_forward(const ConvolutionShape& s) {
  const auto is_plain = [](const Slide& a) { return a.stride == 1 && a.in == a.out; };
  return is_point(s) && is_plain(s.window.h) && is_plain(s.window.w) && s.groups == 1 &&
         !s.multiplies_short;
}

std::unique_ptr<Primitive> make_primitive(const ConvolutionShape& s, Pass pass,
                                          std::int64_t images) {
  Descriptor descriptor = pass == Pass::grad_input && turns_forward(s)
                              ? describe_pass(turned(s), Pass::forward, images)
                              : describe_pass(s, pass, images);
  if (descriptor == nullptr || !is_jit(descriptor.get())) return nullptr;
  switch (pass) {
    case Pass::forward:
      if (s.bias > 0)
        return std::make_unique<Primitive>(
            std::move(descriptor), std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                                                              DNNL_ARG_DST, DNNL_ARG_BIAS});
      return std::make_unique<Primitive>(
          std::move(descriptor),
          std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
    case Pass::grad_input:
      return std::make_unique<Primitive>(
          std::move(descriptor),
          turns_forward(s)
              ? std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}
              : std::initializer_list<int>{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
    case Pass::grad_kernel:
      return std::make_unique<Primitive>(
          std::move(descriptor),
          std::initializer_list<int>{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS});
  }
  return nullptr;
}

}  // namespace plimsoll::kernels::onednn
