#include "interop/axes.h"

#include "zoo/region_heads.h"

namespace plimsoll::interop {

std::vector<int> order_of(Axes axes, int rank) {
  switch (axes) {
    case Axes::ours: break;
    case Axes::hwio: return {2, 3, 1, 0};
    case Axes::hwcm: return {2, 3, 0, 1};
    case Axes::out_in: return {1, 0};
    case Axes::out_bins: return {3, 2, 0, 1};
  }
  std::vector<int> same;
  for (int axis = 0; axis < rank; ++axis) same.push_back(axis);
  return same;
}

namespace {

int rank_of(Axes axes) {
  switch (axes) {
    case Axes::ours: return 0;
    case Axes::hwio:
    case Axes::hwcm: return 4;
    case Axes::out_in:
    case Axes::out_bins: return 2;
  }
  return 0;
}

constexpr std::int64_t kBins = zoo::kRegionBins * zoo::kRegionBins;

Dims stored_dims(const Dims& ours, Axes axes) {
  if (axes == Axes::out_bins) axes = Axes::out_in;
  Dims stored;
  for (int axis : order_of(axes, static_cast<int>(ours.size())))
    stored.push_back(ours[static_cast<std::size_t>(axis)]);
  return stored;
}

}  // namespace

TensorView with_axes(const TensorView& ours, Axes axes) {
  if (axes != Axes::out_bins) return ours;
  const Shape& shape = ours.spec.shape;
  TensorView view = ours;
  view.spec =
      plain({zoo::kRegionBins, zoo::kRegionBins, shape[0] / kBins, shape[1]}, ours.spec.dtype);
  view.image_stride = view.spec.image_elements();
  return view;
}

std::vector<std::int64_t> stored_shape(const Shape& ours, Axes axes) {
  return stored_dims({ours.begin(), ours.end()}, axes);
}

std::optional<Axes> fitting_axes(const Dims& stored, Axes axes, const Dims& ours) {
  const int rank = static_cast<int>(ours.size());
  if (axes == Axes::out_bins && (rank != 2 || ours[0] % kBins != 0)) return std::nullopt;
  if ((axes == Axes::ours || rank_of(axes) == rank) && stored == stored_dims(ours, axes))
    return axes;
  // Keras 3 says kernel for depthwise ones too.
  if (axes == Axes::hwio && rank == 4 && stored == stored_dims(ours, Axes::hwcm)) return Axes::hwcm;
  // A dense layer [in, out] and a 1x1 convolution, as either program stores it.
  if (rank == 2) {
    if (stored == Dims{1, 1, ours[0], ours[1]}) return Axes::ours;
    if (stored == Dims{ours[1], ours[0], 1, 1} && axes == Axes::ours) return Axes::out_in;
  }
  if (rank == 4 && ours[2] == 1 && ours[3] == 1) {
    if (stored == Dims{ours[1], ours[0]} && axes == Axes::ours) return Axes::hwio;
    if (stored == Dims{ours[0], ours[1]} && axes == Axes::out_in) return Axes::ours;
  }
  return std::nullopt;
}

}  // namespace plimsoll::interop
