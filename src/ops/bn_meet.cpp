// Where the parts of a batch make one of what each of them knows of a BatchNorm. Behind this node
// those that run together exchange what it left; alone a part is the batch.
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

// [mean, variance] or two sums
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_same(in[1], in[0], "the second");
  if (in[0].shape.rank() != 1) refuse("what meets is " + to_string(in[0]), "vectors are needed");
  if (attrs.integer("images") < 0)
    refuse("images is " + std::to_string(attrs.integer("images")), "0 or more are needed");
  return {in[0], in[1]};
}

void own(const Attrs& attrs, const Args& args) noexcept {
  const std::int64_t images = attrs.integer("images");
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const T by = images == 0 ? T(1) : T(1) / static_cast<T>(images);
    for (std::size_t k = 0; k < 2; ++k)
      for (std::int64_t c = 0; c < args.in[k].spec.shape[0]; ++c)
        args.out[k].at<T>(c) = args.in[k].at<T>(c) * by;
  });
}

Values no_gradient(const Backward& b) { return b.none(); }

}  // namespace

extern const OpFamily bn_meet;
const OpFamily bn_meet{{
    {.name = "bn_meet",
     .doc = "Mean and variance of all parts of a batch, or means over its images of two sums.",
     .attrs = {{"images", std::int64_t{0}, "those of the part, of sums; 0: mean and variance"}},
     .infer = infer,
     .backward = no_gradient,
     .in_place = {{.out = 0, .over = 0}, {.out = 1, .over = 1}},
     .meets = true,
     .cost = pass_over<1>,
     .kernels = {{"own", plain_job<own>, kAnyReal}},
     .samples = {{.in = {{plain({13})}, {plain({13}), SampleInput::Fill::positive}}},
                 {.in = {{plain({13})}, {plain({13})}}, .attrs = {{"images", std::int64_t{3}}}}}},
}};

}  // namespace plimsoll::ops
