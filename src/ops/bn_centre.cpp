// The way of a BatchNorm's gradient through statistics of more than its own images: what bn_grad
// leaves out where it takes them for constants.
#include "kernels/batch_norm.h"
#include "ops/normalisation.h"

namespace plimsoll::ops {
namespace {

// [dy, y, along, total, mean, variance, [gamma]]
constexpr std::size_t kStatistics = 4;

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  const std::size_t count = kStatistics + parameter_count(attrs);
  check_count(in, count, count);
  check_image(in[0]);
  check_same(in[1], in[0], "y");
  if (attrs.flag("center")) refuse("center is 1", "0 is needed: beta has no part in it");
  for (std::size_t i : {std::size_t{2}, std::size_t{3}})
    check_vector(in[i], in[0].shape[1], "a mean of sums");
  check_parameters(attrs, in, kStatistics, in[0].shape[1]);
  return {in[0]};
}

void ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView& y = args.in[1];
  const Shape& s = y.spec.shape;
  for_real(y.spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < s[1]; ++c) {
      const Channel<T> channel(attrs, args, kStatistics, c);
      const auto pixels = static_cast<T>(s[2] * s[3]);
      over_pixels(s, [&](auto n, auto h, auto w) {
        const T normal = (y.at<T>(n, c, h, w) - channel.mean) * channel.inverse;
        const T through = (args.in[3].at<T>(c) + normal * args.in[2].at<T>(c)) / pixels;
        args.out[0].at<T>(n, c, h, w) =
            args.in[0].at<T>(n, c, h, w) - channel.gamma * channel.inverse * through;
      });
    }
    for (std::int64_t c = s[1]; c < round_up(s[1], y.spec.lanes); ++c)
      over_pixels(s, [&](auto n, auto h, auto w) { args.out[0].at<T>(n, c, h, w) = 0; });
  });
}

std::vector<Sample> samples() {
  const SampleInput c13{plain({13})};
  const SampleInput v13{plain({13}), SampleInput::Fill::positive};
  const SampleInput image{blocked(3, 13, 5, 4)};
  const std::int64_t off = 0;
  return {{.in = {image, image, c13, c13, c13, v13, c13}, .attrs = {{"center", off}}},
          {.in = {image, image, c13, c13, c13, v13}, .attrs = {{"center", off}, {"scale", off}}}};
}

}  // namespace

extern const OpFamily bn_centre;
const OpFamily bn_centre{{
    {.name = "bn_centre",
     .doc =
         "Takes off a gradient what goes through the statistics. in: the gradient, y, means over "
         "images of the sums of gradients along the normalised value and of gradients, "
         "statistics, gamma.",
     .attrs = normalisation_schema(),
     .infer = infer,
     .in_place = {{.out = 0, .over = 0}, {.out = 0, .over = 1}},
     .cost = pass_over<3>,
     .kernels = {{"simd", plain_job<kernels::bn_centre>, kShort},
                 {"ref", plain_job<ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
