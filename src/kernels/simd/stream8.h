// Stores that pass the caches by. An ordinary store reads the line it is about to overwrite; for a
// tensor that no cache will hold until it is read again, that is a third of a pass's traffic. The
// bits are the same, and the choice depends on the size alone.
#pragma once

#include "kernels/simd/vec8.h"
#include "tensor/view.h"

namespace plimsoll::kernels {

// About the last level of cache of a machine with a few cores.
inline bool outgrows_caches(const Spec& spec) { return spec.bytes() >= std::int64_t{24} << 20; }

// `p` is aligned to 32 bytes, as every cell of a blocked tensor is.
template <bool streamed>
void put8(float* p, Vec8 v) {
  if constexpr (streamed)
    _mm256_stream_ps(p, v);
  else
    store8(p, v);
}

// Every thread that streamed calls it before others may read what it wrote.
inline void end_stream() { _mm_sfence(); }

// Calls body.template operator()<streamed>() for the runtime value.
template <class Body>
void with_stream(bool streamed, Body body) {
  if (streamed)
    body.template operator()<true>();
  else
    body.template operator()<false>();
}

}  // namespace plimsoll::kernels
