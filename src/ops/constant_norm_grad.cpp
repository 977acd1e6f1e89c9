// The gradient of a normalisation by constants: dy = gamma / sqrt(variance + epsilon) * dz where
// the activation passes.
#include "kernels/batch_norm.h"
#include "ops/normalisation.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  const std::int64_t given = attrs.integer("terms");
  if (given < 1 || given > 2) refuse("terms is " + std::to_string(given), "1 or 2 are needed");
  const auto terms = static_cast<std::size_t>(given);
  const bool masks = attrs.word("activation") != "none";
  const std::size_t count = terms + parameter_count(attrs) + static_cast<std::size_t>(masks);
  check_count(in, count, count);
  for (std::size_t i = 0; i < terms; ++i) {
    check_image(in[i]);
    check_same(in[i], in[0], "a tensor");
  }
  check_parameters(attrs, in, terms, in[0].shape[1]);
  if (masks) check_same(in.back(), in[0], "z");
  Specs out{in[0]};
  if (attrs.flag("residual")) out.push_back(in[0]);
  return out;
}

void reference(const Attrs& attrs, const Args& args) noexcept {
  const auto terms = static_cast<std::size_t>(attrs.integer("terms"));
  const Shape& s = args.in[0].spec.shape;
  const std::string& activation = attrs.word("activation");
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < round_up(s[1], args.in[0].spec.lanes); ++c)
      over_pixels(s, [&](auto n, auto h, auto w) {
        T sum = 0;
        if (c < s[1] &&
            (activation == "none" || passes(activation, args.in.back().at<T>(n, c, h, w))))
          for (std::size_t t = 0; t < terms; ++t) sum += args.in[t].at<T>(n, c, h, w);
        T scale = 0;
        if (c < s[1]) {
          const Channel<T> channel(attrs, args, terms, c);
          scale = channel.gamma * channel.inverse;
        }
        if (attrs.flag("residual")) args.out[1].at<T>(n, c, h, w) = sum;
        args.out[0].at<T>(n, c, h, w) = scale * sum;
      });
  });
}

std::vector<AttrSchema> schema() {
  std::vector<AttrSchema> attrs = normalisation_schema();
  attrs.push_back({"terms", std::int64_t{1}, "how many gradients of z are given, to be summed"});
  attrs.push_back({"residual", std::int64_t{0}, "1: the gradient by what was added, too"});
  return attrs;
}

std::vector<Sample> samples() {
  const SampleInput c13{plain({13})};
  const SampleInput v13{plain({13}), SampleInput::Fill::positive};
  const SampleInput image{blocked(3, 13, 5, 4)};
  return {{.in = {image, c13, v13, c13, c13}},
          {.in = {image, c13, v13, c13, image},
           .attrs = {{"center", std::int64_t{0}}, {"activation", std::string("relu")}}},
          {.in = {image, image, c13, v13, c13, c13, image},
           .attrs = {{"terms", std::int64_t{2}},
                     {"residual", std::int64_t{1}},
                     {"activation", std::string("relu")}}},
          {.in = {image, c13, v13, image},
           .attrs = {{"scale", std::int64_t{0}},
                     {"center", std::int64_t{0}},
                     {"activation", std::string("relu6")}}}};
}

}  // namespace

extern const OpFamily constant_norm_grad;
const OpFamily constant_norm_grad{{
    {.name = "constant_norm_grad",
     .doc = "Gradients of bn_apply by y and the residual where all else is constant. in: gradients "
            "of z, mean, variance, [gamma], [beta], [z].",
     .attrs = schema(),
     .infer = infer,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}},
     .absorbs = {.gradient_sum = true},
     .cost = pass_over<3>,
     .kernels = {{"simd", plain_job<kernels::constant_norm_grad>, kShort},
                 {"ref", plain_job<reference>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
