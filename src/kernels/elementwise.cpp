#include "kernels/elementwise.h"

namespace plimsoll::kernels {

std::optional<Curve> find_curve(std::string_view name) {
  if (name == "relu") return Curve::relu;
  if (name == "relu6") return Curve::relu6;
  if (name == "leaky_relu") return Curve::leaky_relu;
  if (name == "sigmoid") return Curve::sigmoid;
  if (name == "swish") return Curve::swish;
  if (name == "tanh") return Curve::tanh;
  return std::nullopt;
}

void clear_padding(const TensorView& view) noexcept {
  if (view.spec.layout != Layout::blocked || view.spec.shape[1] % view.spec.lanes == 0) return;
  const std::int64_t size = size_of(view.spec.dtype), lanes = view.spec.lanes;
  const std::int64_t used = view.spec.shape[1] % lanes;
  const std::int64_t pixels = view.spec.shape[2] * view.spec.shape[3];
  for (std::int64_t n = 0; n < view.spec.shape[0]; ++n) {
    std::byte* block =
        view.data + (n * view.image_stride + view.spec.shape[1] / lanes * pixels * lanes) * size;
    for (std::int64_t p = 0; p < pixels; ++p)
      for (std::int64_t byte = used * size; byte < lanes * size; ++byte)
        block[p * lanes * size + byte] = std::byte{0};
  }
}

}  // namespace plimsoll::kernels
