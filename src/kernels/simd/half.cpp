#include "kernels/half.h"

#include "kernels/simd/half_plane.h"
#include "kernels/simd/stream.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// The planes of a dense blocked tensor, one behind the other.
struct Planes {
  std::int64_t count;   // of blocks of channels, over all images
  std::int64_t pixels;  // of one plane
  explicit Planes(const Spec& spec)
      : count(spec.shape[0] * blocks_of(spec.shape[1])), pixels(spec.shape[2] * spec.shape[3]) {}
};

}  // namespace

void pack_half(const TensorView& from, std::byte* to) noexcept {
  const Planes planes(from.spec);
  for_each_streaming(planes.count, true, [&]<bool>(std::int64_t p) {
    const float* plane = from.as<float>() + p * planes.pixels * kLanes;
    Vec largest = zero();
    for (std::int64_t i = 0; i < planes.pixels; ++i)
      largest = max(largest, magnitude(load(plane + i * kLanes)));
    pack_plane(plane, planes.pixels, largest, to + p * packed_plane_bytes(planes.pixels));
  });
}

void unpack_half(const std::byte* from, const TensorView& to) noexcept {
  const Planes planes(to.spec);
  for_each_streaming(planes.count, outgrows_caches(to.spec), [&]<bool streamed>(std::int64_t p) {
    float* plane = to.as<float>() + p * planes.pixels * kLanes;
    const std::byte* packed = from + p * packed_plane_bytes(planes.pixels);
    const Vec up = load(reinterpret_cast<const float*>(packed));
    const std::byte* halves = packed + kScaleBytes;
    for (std::int64_t i = 0; i < planes.pixels; ++i)
      put<streamed>(plane + i * kLanes, mul(load_halves(halves + i * kLanes * 2), up));
  });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
