// Keras's SGD: v = momentum * v - lr * g; w += v (nesterov: w += momentum * v - lr * g).
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

std::size_t slots_of(const Attrs& attrs) { return attrs.real("momentum") > 0 ? 1 : 0; }

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  return infer_update(attrs, in, slots_of(attrs));
}

void update(const Attrs& attrs, const Args& args) noexcept {
  const double factor = gradient_factor(attrs, args);
  if (factor < 0) return;
  const std::size_t slots = slots_of(attrs);
  const double lr = learning_rate(attrs, args, slots);
  const bool nesterov = attrs.flag("nesterov");
  const UpdatedElements range = updated_elements(attrs, args.in[0].spec);
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto rate = static_cast<T>(lr);
    const auto by = static_cast<T>(factor);
    const auto decay = static_cast<T>(attrs.real("weight_decay"));
    const auto momentum = static_cast<T>(attrs.real("momentum"));
    const T* g = args.in[1].as<T>() + range.first;
    T* w = args.out[0].as<T>() + range.first;
    if (slots == 0) {
      over_elements(range.count,
                    [=](std::int64_t i) { w[i] -= rate * (g[i] * by + decay * w[i]); });
      return;
    }
    T* v = args.out[1].as<T>();
    over_elements(range.count, [=](std::int64_t i) {
      const T step = rate * (g[i] * by + decay * w[i]);
      v[i] = momentum * v[i] - step;
      w[i] += nesterov ? momentum * v[i] - step : v[i];
    });
  });
}

std::vector<Sample> samples() {
  const SampleInput tensor{plain({33, 7})};
  const SampleInput lr{plain({1}), SampleInput::Fill::unit};
  const SampleInput norm{plain({1}, DType::f64), SampleInput::Fill::positive};
  return {{.in = {tensor, tensor, tensor, lr, norm}},
          {.in = {tensor, tensor, tensor, lr, norm},
           .attrs = {{"nesterov", std::int64_t{1}},
                     {"weight_decay", 0.01},
                     {"clip_norm", 0.1},
                     {"lr_factor", 0.25}}},
          {.in = {tensor, tensor, lr, norm}, .attrs = {{"momentum", 0.0}}},
          {.in = {tensor, tensor, {plain({90})}, lr, norm},
           .attrs = {{"first", std::int64_t{48}}, {"count", std::int64_t{90}}}}};
}

}  // namespace

extern const OpFamily sgd;
const OpFamily sgd{{
    {.name = "sgd",
     .doc = "Stochastic gradient descent with momentum. in: w, dw, [velocity], lr, norm.",
     .attrs =
         update_schema({{"momentum", 0.9, "share of the last step that goes on; 0: no velocity"},
                        {"nesterov", std::int64_t{0}, "1: look ahead along the velocity"}}),
     .infer = infer,
     .in_place = update_in_place(1),
     .cost = pass_over<4>,
     .kernels = {{"loop", plain_job<update>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
