#include "step/synthetic_batch.h"

#include "base/random.h"

namespace plimsoll {

void fill_synthetic_part(const Trainer& trainer, const StepTensors& inputs, std::int64_t count) {
  const TensorView image = inputs.at("image");
  const std::uint64_t key = fnv1a64("image");
  for_element(image.spec.dtype, [&]<class T>(T) {
    for (std::int64_t i = 0; i < image.spec.shape.elements(); ++i)
      image.as<T>()[i] = static_cast<float>(signed_unit(key, static_cast<std::uint64_t>(i)));
  });
  trainer.task().fill_synthetic(inputs, count);
}

void fill_synthetic_batch(const Trainer& trainer, std::int64_t batch) {
  fill_synthetic_part(trainer, trainer.tensors(Purpose::train, batch), batch);
}

}  // namespace plimsoll
