// Keras's Adam, and AdamW where the decay is decoupled from the gradient.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

// [w, dw, m, v, lr, step, norm]
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  Specs out = infer_update(attrs, in, 2, 1);
  if (in[5] != plain({1}, DType::i64)) refuse("step is " + to_string(in[5]), "i64[1] is needed");
  return out;
}

void update(const Attrs& attrs, const Args& args) noexcept {
  const double factor = gradient_factor(attrs, args);
  if (factor < 0) return;
  const double lr = learning_rate(attrs, args, 2);
  const double step = static_cast<double>(args.in[5].at<std::int64_t>(0) + 1);
  const double beta1 = attrs.real("beta1");
  const double beta2 = attrs.real("beta2");
  const bool decoupled = attrs.flag("decoupled");
  const double corrected = lr * std::sqrt(1 - std::pow(beta2, step)) / (1 - std::pow(beta1, step));
  const UpdatedElements range = updated_elements(attrs, args.in[0].spec);
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto rate = static_cast<T>(corrected);
    const auto by = static_cast<T>(factor);
    const auto inside = static_cast<T>(decoupled ? 0.0 : attrs.real("weight_decay"));
    const auto outside = static_cast<T>(decoupled ? lr * attrs.real("weight_decay") : 0.0);
    const auto rest1 = static_cast<T>(1 - beta1);
    const auto rest2 = static_cast<T>(1 - beta2);
    const auto epsilon = static_cast<T>(attrs.real("epsilon"));
    const T* g = args.in[1].as<T>() + range.first;
    T* w = args.out[0].as<T>() + range.first;
    T* m = args.out[1].as<T>();
    T* v = args.out[2].as<T>();
    over_elements(range.count, [=](std::int64_t i) {
      const T slope = g[i] * by + inside * w[i];
      w[i] -= outside * w[i];
      m[i] += (slope - m[i]) * rest1;
      v[i] += (slope * slope - v[i]) * rest2;
      w[i] -= m[i] * rate / (std::sqrt(v[i]) + epsilon);
    });
  });
}

std::vector<Sample> samples() {
  const SampleInput tensor{plain({33, 7})};
  const SampleInput square{plain({33, 7}), SampleInput::Fill::positive};
  const SampleInput lr{plain({1}), SampleInput::Fill::unit};
  const SampleInput step{plain({1}, DType::i64), SampleInput::Fill::count};
  const SampleInput norm{plain({1}, DType::f64), SampleInput::Fill::positive};
  return {{.in = {tensor, tensor, tensor, square, lr, step, norm}},
          {.in = {tensor, tensor, tensor, square, lr, step, norm},
           .attrs = {{"decoupled", std::int64_t{1}}, {"weight_decay", 0.01}, {"clip_norm", 0.1}}},
          {.in = {tensor,
                  tensor,
                  {plain({90})},
                  {plain({90}), SampleInput::Fill::positive},
                  lr,
                  step,
                  norm},
           .attrs = {{"first", std::int64_t{48}}, {"count", std::int64_t{90}}}}};
}

}  // namespace

extern const OpFamily adam;
const OpFamily adam{{
    {.name = "adam",
     .doc = "Adam. in: w, dw, mean, mean square, lr, steps done before, norm.",
     .attrs = update_schema({{"beta1", 0.9, "share of the old mean that stays"},
                             {"beta2", 0.999, "share of the old mean square that stays"},
                             {"epsilon", 1e-7, "added to the root of the mean square"},
                             {"decoupled", std::int64_t{0},
                              "1: decay acts on the weights, not through the gradient"}}),
     .infer = infer,
     .in_place = update_in_place(2),
     .cost = pass_over<10>,
     .kernels = {{"loop", plain_job<update>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
