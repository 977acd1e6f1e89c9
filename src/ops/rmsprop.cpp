// Keras's RMSprop: v = rho * v + (1 - rho) * g^2; w -= lr * g / sqrt(v + epsilon), with momentum
// over it.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

std::size_t slots_of(const Attrs& attrs) { return attrs.real("momentum") > 0 ? 2 : 1; }

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  return infer_update(attrs, in, slots_of(attrs));
}

void update(const Attrs& attrs, const Args& args) noexcept {
  const double factor = gradient_factor(attrs, args);
  if (factor < 0) return;
  const std::size_t slots = slots_of(attrs);
  const double lr = learning_rate(attrs, args, slots);
  const UpdatedElements range = updated_elements(attrs, args.in[0].spec);
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto rate = static_cast<T>(lr);
    const auto by = static_cast<T>(factor);
    const auto decay = static_cast<T>(attrs.real("weight_decay"));
    const auto rho = static_cast<T>(attrs.real("rho"));
    const auto rest = static_cast<T>(1 - attrs.real("rho"));
    const auto epsilon = static_cast<T>(attrs.real("epsilon"));
    const auto momentum = static_cast<T>(attrs.real("momentum"));
    const T* g = args.in[1].as<T>() + range.first;
    T* w = args.out[0].as<T>() + range.first;
    T* v = args.out[1].as<T>();
    T* m = slots > 1 ? args.out[2].as<T>() : nullptr;
    over_elements(range.count, [=](std::int64_t i) {
      const T slope = g[i] * by + decay * w[i];
      v[i] = rho * v[i] + rest * slope * slope;
      T step = rate * slope / std::sqrt(v[i] + epsilon);
      if (m != nullptr) step = m[i] = momentum * m[i] + step;
      w[i] -= step;
    });
  });
}

std::vector<Sample> samples() {
  const SampleInput tensor{plain({33, 7})};
  const SampleInput square{plain({33, 7}), SampleInput::Fill::positive};
  const SampleInput lr{plain({1}), SampleInput::Fill::unit};
  const SampleInput norm{plain({1}, DType::f64), SampleInput::Fill::positive};
  return {{.in = {tensor, tensor, square, lr, norm}},
          {.in = {tensor, tensor, square, tensor, lr, norm},
           .attrs = {{"momentum", 0.9}, {"clip_norm", 0.1}}},
          {.in = {tensor, tensor, {plain({90}), SampleInput::Fill::positive}, lr, norm},
           .attrs = {{"first", std::int64_t{48}}, {"count", std::int64_t{90}}}}};
}

}  // namespace

extern const OpFamily rmsprop;
const OpFamily rmsprop{{
    {.name = "rmsprop",
     .doc = "RMSprop. in: w, dw, mean square, [momentum], lr, norm.",
     .attrs =
         update_schema({{"rho", 0.9, "share of the old mean square that stays"},
                        {"epsilon", 1e-7, "added to the mean square"},
                        {"momentum", 0.0, "share of the last step that goes on; 0: no such slot"}}),
     .infer = infer,
     .in_place = update_in_place(2),
     .cost = pass_over<8>,
     .kernels = {{"loop", plain_job<update>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
