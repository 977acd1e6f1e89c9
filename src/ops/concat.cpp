// Joining tensors along the channels and taking them apart; both free where operands share bytes.
#include <cstring>

#include "kernels/elementwise.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Spec with_channels(const Spec& spec, std::int64_t channels) {
  Spec result = spec;
  result.shape = {};
  for (int axis = 0; axis < spec.shape.rank(); ++axis)
    result.shape.append(axis == 1 ? channels : spec.shape[axis]);
  return result;
}

Specs infer_concat(const Attrs&, std::span<const Spec> in) {
  if (in.empty() || in[0].shape.rank() < 2)
    refuse("nothing to join", "tensors with channels are needed");
  std::int64_t channels = 0;
  for (const Spec& spec : in) {
    check_same(with_channels(spec, 1), with_channels(in[0], 1), "a part without its channels");
    channels += spec.shape[1];
  }
  return {with_channels(in[0], channels)};
}

Specs infer_split(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  if (in[0].shape.rank() < 2)
    refuse("input is " + to_string(in[0]), "a tensor with channels is needed");
  Specs out;
  std::int64_t channels = 0;
  for (std::int64_t size : attrs.ints("sizes")) {
    if (size < 1 || size > in[0].shape[1])
      refuse("a part of " + std::to_string(size), "1 to all channels are needed");
    channels += size;
    out.push_back(with_channels(in[0], size));
  }
  if (channels != in[0].shape[1])
    refuse("parts of " + std::to_string(channels) + " channels in all",
           std::to_string(in[0].shape[1]) + " are needed");
  return out;
}

// Copies channels [first, first + C) of `whole` from or to `part`, unless they are the same bytes.
template <class T>
void copy_part(const TensorView& whole, const TensorView& part, std::int64_t first,
               bool into_whole) {
  const Spec& spec = part.spec;
  if (spec.layout == Layout::blocked && first % spec.lanes == 0) {
    const std::int64_t pixels = spec.shape[2] * spec.shape[3], lanes = spec.lanes;
    if (part.as<T>() == whole.as<T>() + first * pixels && part.image_stride == whole.image_stride)
      return;
    const std::int64_t blocks = spec.blocks();
    const auto bytes = static_cast<std::size_t>(pixels * lanes) * sizeof(T);
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t n = 0; n < spec.shape[0]; ++n)
      for (std::int64_t cb = 0; cb < blocks; ++cb) {
        T* outer = whole.image<T>(n) + (first + cb * lanes) * pixels;
        T* inner = part.image<T>(n) + cb * lanes * pixels;
        std::memcpy(into_whole ? outer : inner, into_whole ? inner : outer, bytes);
      }
    if (!into_whole) kernels::clear_padding(part);
    return;
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < spec.shape[0]; ++n)
    for (std::int64_t c = 0; c < spec.shape[1]; ++c)
      for (std::int64_t h = 0; h < (spec.shape.rank() > 2 ? spec.shape[2] : 1); ++h)
        for (std::int64_t w = 0; w < (spec.shape.rank() > 2 ? spec.shape[3] : 1); ++w) {
          T& outer = whole.at<T>(n, first + c, h, w);
          T& inner = part.at<T>(n, c, h, w);
          (into_whole ? outer : inner) = into_whole ? inner : outer;
        }
  if (!into_whole) kernels::clear_padding(part);
}

void copy_parts(std::span<const TensorView> parts, const TensorView& whole, bool into_whole) {
  for_element(whole.spec.dtype, [&]<class T>(T) {
    std::int64_t first = 0;
    for (const TensorView& part : parts) {
      copy_part<T>(whole, part, first, into_whole);
      first += part.spec.shape[1];
    }
  });
}

void concat_parts(const Attrs&, const Args& args) noexcept {
  copy_parts(args.in, args.out[0], true);
  kernels::clear_padding(args.out[0]);
}

void split_parts(const Attrs&, const Args& args) noexcept {
  copy_parts(args.out, args.in[0], false);
}

Values concat_backward(const Backward& b) {
  Ints sizes;
  for (ValueId in : b.node.in) sizes.push_back(b.graph.spec(in).shape[1]);
  return b.call("split", {b.dy[0]}, {{"sizes", sizes}});
}

// Parts the loss does not depend on count as zeros.
Values split_backward(const Backward& b) {
  Values parts;
  for (std::size_t i = 0; i < b.dy.size(); ++i)
    parts.push_back(b.dy[i] ? b.dy[i] : b.call1("scale", {b.out(i)}, {{"factor", 0.0}}));
  return {b.call1("concat", parts)};
}

}  // namespace

extern const OpFamily concat;
const OpFamily concat{{
    {.name = "concat",
     .doc = "Joins tensors along the channels.",
     .infer = infer_concat,
     .backward = concat_backward,
     .cheap_to_repeat = true,
     .view = ViewKind::concat,
     .cost = pass_over<0>,
     .kernels = {{"copy", plain_job<concat_parts>, kAnyElement}},
     .samples = {{.in = {{blocked(2, 8, 3, 5)}, {blocked(2, 16, 3, 5)}, {blocked(2, 5, 3, 5)}}},
                 {.in = {{blocked(2, 3, 3, 5)}, {blocked(2, 10, 3, 5)}}},
                 {.in = {{plain({3, 4})}, {plain({3, 7})}}}}},
    {.name = "split",
     .doc = "Takes a tensor apart along the channels.",
     .attrs = {{"sizes", Ints{1}, "channels of each part"}},
     .infer = infer_split,
     .backward = split_backward,
     .cheap_to_repeat = true,
     .view = ViewKind::split,
     .cost = pass_over<0>,
     .kernels = {{"copy", plain_job<split_parts>, kAnyElement}},
     .samples = {{.in = {{blocked(2, 29, 3, 5)}}, .attrs = {{"sizes", Ints{8, 16, 5}}}},
                 {.in = {{blocked(2, 13, 3, 5)}}, .attrs = {{"sizes", Ints{3, 10}}}}}},
}};

}  // namespace plimsoll::ops
