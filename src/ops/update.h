// What the optimizers share: when a step counts, how much of a gradient, and of which elements.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "ops/rules.h"

namespace plimsoll::ops {

// The elements of a weight, as it is stored, that an update is about: all, or a shard of them, and
// then what it remembers is as long as that.
struct UpdatedElements {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
inline UpdatedElements updated_elements(const Attrs& attrs, const Spec& weight) {
  const std::int64_t count = attrs.integer("count");
  if (count == 0) return {0, weight.stored_elements()};
  return {attrs.integer("first"), count};
}

inline std::vector<AttrSchema> with_elements(std::vector<AttrSchema> own) {
  own.push_back({"first", std::int64_t{0}, "element, as stored, that the shard begins with"});
  own.push_back({"count", std::int64_t{0}, "elements of the shard; 0: of all of the weight"});
  return own;
}

// Of what follows a weight, element by element.
inline Spec follower_spec(const Attrs& attrs, const Spec& weight) {
  const std::int64_t first = attrs.integer("first");
  const std::int64_t count = attrs.integer("count");
  if (first < 0 || count < 0 || first + count > weight.stored_elements())
    refuse("elements " + std::to_string(first) + " and " + std::to_string(count) + " more",
           "some of the " + std::to_string(weight.stored_elements()) + " there are are needed");
  return count == 0 ? weight : plain({count}, weight.dtype);
}

// Attributes every optimizer has.
inline std::vector<AttrSchema> update_schema(std::vector<AttrSchema> own) {
  own.push_back({"weight_decay", 0.0, "pulls weights to zero"});
  own.push_back({"clip_norm", 0.0, "largest norm of all gradients together; 0: no limit"});
  own.push_back({"lr_factor", 1.0, "times the learning rate"});
  return with_elements(std::move(own));
}

// Checks [w, dw, slots..., lr, extra..., norm] and returns [w, slots...].
inline Specs infer_update(const Attrs& attrs, std::span<const Spec> in, std::size_t slots,
                          std::size_t extra = 0) {
  check_count(in, slots + extra + 4, slots + extra + 4);
  Specs out{in[0]};
  check_same(in[1], in[0], "the gradient");
  const Spec slot = follower_spec(attrs, in[0]);
  for (std::size_t i = 0; i < slots; ++i) {
    check_same(in[2 + i], slot, "a slot");
    out.push_back(slot);
  }
  check_vector(in[2 + slots], 1, "the learning rate");
  check_vector(in.back(), 1, "the norm");
  if (in[2 + slots].dtype != DType::f32 || in.back().dtype != DType::f64)
    refuse("learning rate " + to_string(in[2 + slots]) + ", norm " + to_string(in.back()),
           "f32 and f64 are needed");
  return out;
}

// Slots are written where they lie: each output replaces the input before or behind the gradient.
inline std::vector<InPlace> update_in_place(int slots) {
  std::vector<InPlace> rules{{.out = 0, .over = 0, .required = true}};
  for (int i = 0; i < slots; ++i) rules.push_back({.out = 1 + i, .over = 2 + i, .required = true});
  return rules;
}

// What a gradient is multiplied by: 1, less where the norm exceeds the limit. Negative: the step is
// bad (its loss or gradients are not finite) and changes nothing.
inline double gradient_factor(const Attrs& attrs, const Args& args) {
  const double norm = args.in.back().at<double>(0);
  if (!std::isfinite(norm)) return -1;
  const double limit = attrs.real("clip_norm");
  return limit > 0 && norm > limit ? limit / norm : 1.0;
}

// The rate of this weight; the run's is the operand behind `slots` slots.
inline double learning_rate(const Attrs& attrs, const Args& args, std::size_t slots) {
  return static_cast<double>(args.in[2 + slots].at<float>(0)) * attrs.real("lr_factor");
}

// Calls body(i) for so many elements, in parallel pieces.
template <class Body>
void over_elements(std::int64_t count, Body body) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace plimsoll::ops
