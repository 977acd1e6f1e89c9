// Rows and columns of zeros around an image, and their removal.
#include <cstring>

#include "kernels/clear.h"
#include "ops/elements.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

constexpr double kLargestResult = 1e13;

void check_picture(const Spec& spec) {
  if (spec.shape.rank() != 4 || (spec.layout != Layout::plain && spec.layout != Layout::blocked))
    refuse("input is " + to_string(spec), "a plain or blocked [N,C,H,W] tensor is needed");
  check_real(spec);
}

Spec resized(const Spec& spec, std::int64_t height, std::int64_t width) {
  Spec result = spec;
  result.shape = {spec.shape[0], spec.shape[1], height, width};
  return result;
}

Specs infer_pad(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_picture(in[0]);
  check_list(attrs, "pads", 4, 0);
  const Ints& pads = attrs.ints("pads");
  const Shape& s = in[0].shape;
  const std::int64_t height = s[2] + pads[0] + pads[2], width = s[3] + pads[1] + pads[3];
  const double elements = static_cast<double>(s[0]) * static_cast<double>(s[1]) *
                          static_cast<double>(height) * static_cast<double>(width);
  if (elements > kLargestResult)
    refuse("an image of " + std::to_string(height) + "x" + std::to_string(width),
           "at most 1e13 elements are needed");
  return {resized(in[0], height, width)};
}

Specs infer_crop(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_picture(in[0]);
  check_list(attrs, "pads", 4, 0);
  const Ints& pads = attrs.ints("pads");
  const std::int64_t height = in[0].shape[2] - pads[0] - pads[2];
  const std::int64_t width = in[0].shape[3] - pads[1] - pads[3];
  if (height < 1 || width < 1)
    refuse("input is " + to_string(in[0]), "an image larger than what is cut off is needed");
  return {resized(in[0], height, width)};
}

// A plain or blocked tensor as planes of rows of bytes.
struct Planes {
  explicit Planes(const TensorView& v)
      : view(v),
        per_image(v.spec.layout == Layout::blocked ? v.spec.blocks() : v.spec.shape[1]),
        cell(size_of(v.spec.dtype) * (v.spec.layout == Layout::blocked ? v.spec.lanes : 1)) {}

  std::byte* row(std::int64_t n, std::int64_t plane, std::int64_t h) const {
    return view.data + n * view.image_stride * size_of(view.spec.dtype) +
           (plane * view.spec.shape[2] + h) * width();
  }
  std::int64_t width() const { return view.spec.shape[3] * cell; }

  const TensorView& view;
  std::int64_t per_image;
  std::int64_t cell;  // bytes of one column
};

void fill(std::byte* at, std::int64_t bytes) {
  std::memset(at, 0, static_cast<std::size_t>(bytes));
}

void pad_rows(const Attrs& attrs, const Args& args) noexcept {
  const Planes from(args.in[0]), to(args.out[0]);
  const Ints& pads = attrs.ints("pads");
  const std::int64_t height = args.in[0].spec.shape[2];
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < args.in[0].spec.shape[0]; ++n)
    for (std::int64_t plane = 0; plane < from.per_image; ++plane) {
      fill(to.row(n, plane, 0), pads[0] * to.width());
      for (std::int64_t h = 0; h < height; ++h) {
        std::byte* row = to.row(n, plane, pads[0] + h);
        const std::int64_t left = pads[1] * to.cell;
        fill(row, left);
        std::memcpy(row + left, from.row(n, plane, h), static_cast<std::size_t>(from.width()));
        fill(row + left + from.width(), pads[3] * to.cell);
      }
      fill(to.row(n, plane, pads[0] + height), pads[2] * to.width());
    }
}

void crop_rows(const Attrs& attrs, const Args& args) noexcept {
  const Planes from(args.in[0]), to(args.out[0]);
  const Ints& pads = attrs.ints("pads");
  const std::int64_t height = args.out[0].spec.shape[2];
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t n = 0; n < args.out[0].spec.shape[0]; ++n)
    for (std::int64_t plane = 0; plane < to.per_image; ++plane)
      for (std::int64_t h = 0; h < height; ++h)
        std::memcpy(to.row(n, plane, h), from.row(n, plane, pads[0] + h) + pads[1] * from.cell,
                    static_cast<std::size_t>(to.width()));
}

void pad_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Ints& pads = attrs.ints("pads");
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(x.spec, [&](auto n, auto c, auto h, auto w) {
      y.at<T>(n, c, h + pads[0], w + pads[1]) = x.at<T>(n, c, h, w);
    });
  });
}

void crop_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Ints& pads = attrs.ints("pads");
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_element(y.spec, [&](auto n, auto c, auto h, auto w) {
      y.at<T>(n, c, h, w) = x.at<T>(n, c, h + pads[0], w + pads[1]);
    });
  });
}

Values pad_backward(const Backward& b) { return {b.call1("crop", {b.dy[0]}, b.node.attrs)}; }
Values crop_backward(const Backward& b) { return {b.call1("zero_pad", {b.dy[0]}, b.node.attrs)}; }

std::vector<AttrSchema> schema() {
  return {{"pads", Ints{0, 0, 0, 0}, "rows and columns: top, left, bottom, right"}};
}

std::vector<Sample> samples() {
  const Attrs uneven{{"pads", Ints{0, 1, 2, 3}}};
  const Attrs even{{"pads", Ints{1, 1, 1, 1}}};
  return {{.in = {{blocked(2, 13, 5, 7)}}, .attrs = uneven},
          {.in = {{blocked(3, 8, 4, 4)}}, .attrs = even},
          {.in = {{blocked(1, 5, 3, 5)}}},
          {.in = {{plain({2, 3, 5, 7})}}, .attrs = uneven}};
}

}  // namespace

extern const OpFamily zero_pad;
const OpFamily zero_pad{{
    {.name = "zero_pad",
     .doc = "Adds rows and columns of zeros around an image.",
     .attrs = schema(),
     .infer = infer_pad,
     .backward = pad_backward,
     .cheap_to_repeat = true,
     .form = Form::zero_pad,
     .cost = pass_over<0>,
     .kernels = {{"copy", plain_job<pad_rows>, kAnyElement}, {"ref", plain_job<pad_ref>, kAnyReal}},
     .samples = samples()},
    {.name = "crop",
     .doc = "Removes rows and columns from the border of an image.",
     .attrs = schema(),
     .infer = infer_crop,
     .backward = crop_backward,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"copy", plain_job<crop_rows>, kAnyElement},
                 {"ref", plain_job<crop_ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
