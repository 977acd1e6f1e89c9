// Shape rules and prices that many ops share.
#pragma once

#include <span>
#include <string>

#include "graph/graph.h"
#include "graph/op.h"

namespace plimsoll::ops {

// UsageError {got, expected, hint} without a place; the graph adds which layer it was.
[[noreturn]] void refuse(std::string got, std::string expected, std::string hint = "");

// Refuses unless the op was given between `least` and `most` inputs.
void check_count(std::span<const Spec> in, std::size_t least, std::size_t most);
// Refuses unless `spec` is a blocked image tensor [N, C, H, W].
void check_image(const Spec& spec, std::string_view what = "input");
// Refuses unless `spec` is a plain matrix [N, C].
void check_matrix(const Spec& spec, std::string_view what = "input");
// Refuses unless `spec` is a plain vector of `length` elements.
void check_vector(const Spec& spec, std::int64_t length, std::string_view what);
void check_same(const Spec& got, const Spec& expected, std::string_view what);

// Whether an image made of numbers that are no image is narrower than they are: attribute `image`,
// `same` or `bf16`.
AttrSchema image_type_schema();
DType image_type(const Attrs& attrs, DType numbers);
// The word for images of `type`.
std::string image_type_word(DType type);
// The lanes of an image made of what is no blocked one: attribute `lanes`.
AttrSchema image_lanes_schema();
std::int64_t image_lanes(const Attrs& attrs);

// Every operand read or written once, `per_element` flops for each element of the first output.
template <int per_element>
Cost pass_over(const Attrs&, std::span<const Spec> in, std::span<const Spec> out) {
  Cost cost;
  for (const Spec& spec : in) cost.bytes += static_cast<double>(spec.bytes());
  for (const Spec& spec : out) cost.bytes += static_cast<double>(spec.bytes());
  cost.flops = per_element * static_cast<double>(out.empty() ? 0 : out[0].stored_elements());
  return cost;
}

// Sliding windows in one direction: `pads` cells of padding in all, windows of `kernel` cells
// `dilation` apart. Refuses when the result would be empty.
std::int64_t window_count(std::int64_t size, std::int64_t pads, std::int64_t kernel,
                          std::int64_t stride, std::int64_t dilation = 1);

}  // namespace plimsoll::ops
