#include "kernels/short_reals.h"

#include "kernels/simd/eight.h"

namespace plimsoll::kernels {
namespace {

template <class From, class To>
void convert(const From* from, std::int64_t count, To* to) {
  const std::int64_t whole = count / 8;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < whole; ++i) eight::store(to + 8 * i, eight::load(from + 8 * i));
  for (std::int64_t i = 8 * whole; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace

void widen(const Bf16* from, std::int64_t count, float* to) noexcept { convert(from, count, to); }
void shorten(const float* from, std::int64_t count, Bf16* to) noexcept { convert(from, count, to); }

}  // namespace plimsoll::kernels
