// Stores that pass the caches by. An ordinary store reads the line it is about to overwrite; for a
// tensor that no cache will hold until it is read again, that is a third of a pass's traffic. The
// bits are the same, and the choice depends on the size alone.
#pragma once

#include "kernels/simd/vec.h"
#include "tensor/view.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// About the last level of cache of a machine with a few cores.
inline bool outgrows_caches(const Spec& spec) { return spec.bytes() >= std::int64_t{24} << 20; }

// `p` is aligned to what the lanes take, as every cell of a blocked tensor is.
template <bool streamed, class T>
void put(T* p, Vec v) {
  if constexpr (streamed)
    stream(p, v);
  else
    store(p, v);
}

// Calls body.template operator()<streamed>(i) for every i below `count`, shared out among the
// threads in equal runs. What was streamed has arrived when it returns.
template <class Body>
void for_each_streaming(std::int64_t count, bool streamed, Body body) {
  const auto loop = [&]<bool kStreamed>() {
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
      for (std::int64_t i = 0; i < count; ++i) body.template operator()<kStreamed>(i);
      if (kStreamed) stream_fence();
    }
  };
  if (streamed)
    loop.template operator()<true>();
  else
    loop.template operator()<false>();
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
