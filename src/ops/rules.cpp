#include "ops/rules.h"

#include "base/error.h"

namespace plimsoll::ops {

void refuse(std::string got, std::string expected, std::string hint) {
  throw UsageError({.where = "",
                    .got = std::move(got),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

void check_count(std::span<const Spec> in, std::size_t least, std::size_t most) {
  if (in.size() >= least && in.size() <= most) return;
  std::string expected = std::to_string(least);
  if (most != least) expected += " to " + std::to_string(most);
  refuse(std::to_string(in.size()) + " inputs", expected + " are needed");
}

void check_image(const Spec& spec, std::string_view what) {
  if (spec.shape.rank() == 4 && spec.layout == Layout::blocked) return;
  refuse(std::string(what) + " is " + to_string(spec), "a blocked [N,C,H,W] tensor is needed");
}

void check_matrix(const Spec& spec, std::string_view what) {
  if (spec.shape.rank() == 2 && spec.layout == Layout::plain) return;
  refuse(std::string(what) + " is " + to_string(spec), "a plain [N,C] tensor is needed",
         spec.shape.rank() == 4 ? "flatten or pool the images first" : "");
}

void check_vector(const Spec& spec, std::int64_t length, std::string_view what) {
  if (spec.shape.rank() == 1 && spec.shape[0] == length && spec.layout == Layout::plain) return;
  refuse(std::string(what) + " is " + to_string(spec),
         "a plain vector of " + std::to_string(length) + " is needed");
}

void check_same(const Spec& got, const Spec& expected, std::string_view what) {
  if (got == expected) return;
  refuse(std::string(what) + " is " + to_string(got), to_string(expected) + " is needed");
}

AttrSchema image_type_schema() {
  return {"image", std::string("same"), "element type of the image: same or bf16"};
}

DType image_type(const Attrs& attrs, DType numbers) {
  const std::string& word = attrs.word("image");
  if (word == "same") return numbers;
  if (word != "bf16" || widened(numbers) != DType::f32)
    refuse("image is '" + word + "' of " + std::string(name_of(numbers)),
           "same, or bf16 of f32, is needed");
  return DType::bf16;
}

std::string image_type_word(DType type) { return type == DType::bf16 ? "bf16" : "same"; }

AttrSchema image_lanes_schema() {
  return {"lanes", kNarrowLanes, "channels of a block of the image: 8 or 16"};
}

std::int64_t image_lanes(const Attrs& attrs) {
  const std::int64_t lanes = attrs.integer("lanes");
  if (lanes != kNarrowLanes && lanes != kWideLanes)
    refuse("blocks of " + std::to_string(lanes) + " channels", "8 or 16 are needed");
  return lanes;
}

std::int64_t window_count(std::int64_t size, std::int64_t pads, std::int64_t kernel,
                          std::int64_t stride, std::int64_t dilation) {
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  if (size + pads < reach)
    refuse(
        "a window of " + std::to_string(reach) + " over " + std::to_string(size + pads) + " cells",
        "at least one window must fit", "the image is too small for this network");
  return (size + pads - reach) / stride + 1;
}

}  // namespace plimsoll::ops
