// Mean and biased variance of every channel over a batch.
#include "kernels/batch_norm.h"
#include "kernels/half.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_image(in[0]);
  const Spec channels = plain({in[0].shape[1]}, widened(in[0].dtype));
  return {channels, channels};
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView& y = args.in[0];
  const Shape& s = y.spec.shape;
  for_real(y.spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < s[1]; ++c) {
      double sum = 0;
      double squares = 0;
      const auto over_pixels = [&](auto body) {
        for (std::int64_t n = 0; n < s[0]; ++n)
          for (std::int64_t h = 0; h < s[2]; ++h)
            for (std::int64_t w = 0; w < s[3]; ++w) body(static_cast<double>(y.at<T>(n, c, h, w)));
      };
      over_pixels([&](double v) { sum += v; });
      const double count = static_cast<double>(s[0] * s[2] * s[3]);
      const double mean = sum / count;
      over_pixels([&](double v) { squares += (v - mean) * (v - mean); });
      args.out[0].at<T>(c) = static_cast<T>(mean);
      args.out[1].at<T>(c) = static_cast<T>(squares / count);
    }
  });
  if (args.packed != nullptr) kernels::pack_half(y, args.packed);
}

// bn_apply with training=1 owns the whole gradient, the way through the statistics included.
Values no_gradient(const Backward& b) { return b.none(); }

}  // namespace

extern const OpFamily bn_stats;
const OpFamily bn_stats{{
    {.name = "bn_stats",
     .doc = "Mean and biased variance of every channel over a batch.",
     .infer = infer,
     .backward = no_gradient,
     .form = Form::moments,
     .framework_holds = FrameworkHolds::input,
     .cost = pass_over<3>,
     .kernels = {{"simd", plain_job<kernels::bn_stats>, {.bf16 = TakesBf16::yes, .packs = true}},
                 {"ref", plain_job<ref>, {.f64 = true, .bf16 = TakesBf16::as_f32, .packs = true}}},
     .samples = {{.in = {{blocked(3, 13, 5, 7)}}},
                 {.in = {{blocked(1, 8, 1, 1)}}},
                 {.in = {{blocked(2, 33, 19, 17)}}}}},
}};

}  // namespace plimsoll::ops
