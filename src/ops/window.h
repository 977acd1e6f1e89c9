// Shape rules of the ops that slide windows over images: convolutions and pools.
#pragma once

#include <string>

#include "kernels/window.h"
#include "ops/rules.h"

namespace plimsoll::ops {

// Refuses element types that no kernel computes with.
inline void check_real(const Spec& spec, std::string_view what = "input") {
  if (widened(spec.dtype) != DType::f32 && spec.dtype != DType::f64)
    refuse(std::string(what) + " is " + to_string(spec), "f32, bf16 or f64 elements are needed");
}

// Refuses unless there are two plain matrices of the same real numbers: what a network says, and
// what it should say.
inline void check_against_targets(std::span<const Spec> in, std::string_view what) {
  check_count(in, 2, 2);
  check_matrix(in[0], what);
  check_real(in[0], what);
  check_same(in[1], in[0], "the targets");
}

// Refuses unless `spec` is a blocked image tensor of real numbers.
inline void check_real_image(const Spec& spec, std::string_view what = "input") {
  check_image(spec, what);
  check_real(spec, what);
}

// Refuses unless attribute `name` lists `count` integers, each at least `least`.
inline void check_list(const Attrs& attrs, std::string_view name, std::size_t count,
                       std::int64_t least) {
  const Ints& list = attrs.ints(name);
  bool good = list.size() == count;
  for (std::int64_t item : list) good = good && item >= least && item <= 1 << 20;
  if (!good)
    refuse(
        std::string(name) + " is " + to_string(AttrValue(list)),
        std::to_string(count) + " integers of at least " + std::to_string(least) + " are needed");
}

// Refuses bad strides, pads or dilations.
inline void check_window(const Attrs& attrs) {
  check_list(attrs, "strides", 2, 1);
  check_list(attrs, "pads", 4, 0);
  if (attrs.find("dilations") != nullptr) check_list(attrs, "dilations", 2, 1);
}

struct Extent {
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool operator==(const Extent&) const = default;
};

inline Extent extent_of(const Attrs& attrs, std::string_view name) {
  check_list(attrs, name, 2, 1);
  return {attrs.ints(name)[0], attrs.ints(name)[1]};
}

// How many windows of `kernel` fit an image of `size`; refuses when none does.
inline Extent count_windows(const Attrs& attrs, Extent size, Extent kernel) {
  check_window(attrs);
  const Ints &strides = attrs.ints("strides"), &pads = attrs.ints("pads");
  const bool dilated = attrs.find("dilations") != nullptr;
  return {window_count(size.h, pads[0] + pads[2], kernel.h, strides[0],
                       dilated ? attrs.ints("dilations")[0] : 1),
          window_count(size.w, pads[1] + pads[3], kernel.w, strides[1],
                       dilated ? attrs.ints("dilations")[1] : 1)};
}

// Refuses unless `dy` has one cell for each window over an image of `size`.
inline void check_windows(const Attrs& attrs, const Spec& dy, Extent size, Extent kernel) {
  const Extent count = count_windows(attrs, size, kernel);
  if (Extent{dy.shape[2], dy.shape[3]} != count)
    refuse("the output gradient is " + to_string(dy),
           std::to_string(count.h) + "x" + std::to_string(count.w) + " cells are needed");
}

// `attrs` and one more.
inline Attrs with(Attrs attrs, std::string_view name, AttrValue value) {
  attrs.set(name, std::move(value));
  return attrs;
}

inline Ints image_size(const Spec& x) { return {x.shape[2], x.shape[3]}; }

}  // namespace plimsoll::ops
