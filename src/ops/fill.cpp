// A tensor of one number.
#include "ops/elements.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 0, 0);
  Shape shape;
  const Ints& dims = attrs.ints("shape");
  if (dims.empty() || dims.size() > Shape::kMaxRank)
    refuse("a shape of rank " + std::to_string(dims.size()), "1 to 4 are needed");
  double elements = 1;
  for (std::int64_t dim : dims) {
    if (dim < 1) refuse("a dimension of " + std::to_string(dim), "at least 1 is needed");
    elements *= static_cast<double>(dim);
    shape.append(dim);
  }
  if (elements > 1e12)
    refuse("a shape of " + std::to_string(elements) + " elements", "at most 1e12 are needed");
  return {{.dtype = DType::f32, .shape = shape, .layout = Layout::plain}};
}

void ref(const Attrs& attrs, const Args& args) noexcept {
  const auto value = static_cast<float>(attrs.real("value"));
  for (std::int64_t i = 0; i < args.out[0].spec.shape.elements(); ++i)
    args.out[0].as<float>()[i] = value;
}

}  // namespace

extern const OpFamily fill;
const OpFamily fill{{
    {.name = "fill",
     .doc = "A plain f32 tensor of one number.",
     .attrs = {{"value", 0.0, "the number"}, {"shape", Ints{1}, "of the tensor"}},
     .infer = infer,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {}, .attrs = {{"value", 3.0}, {"shape", Ints{2, 3}}}}}},
}};

}  // namespace plimsoll::ops
