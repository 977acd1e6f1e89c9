// exp and log1p of eight floats, where losses need them.
#pragma once

#include "kernels/simd/ints8.h"

namespace plimsoll::kernels {

// exp of what is not positive, within 2 units of the last place; below -87 as of -87. NaN stays.
inline Vec8 exp_of_negative8(Vec8 x) {
  x = max8(splat8(-87.0F), x);
  const Vec8 n =
      _mm256_round_ps(mul8(x, splat8(1.44269504F)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts, so that r is exact.
  const Vec8 r = fnma8(n, splat8(-2.12194440e-4F), fnma8(n, splat8(0.693359375F), x));
  Vec8 y = splat8(1.9875691500e-4F);
  for (const float c :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    y = fma8(y, r, splat8(c));
  y = add8(fma8(y, mul8(r, r), r), splat8(1.0F));
  const Ints8 power = shift_left8<23>(add8(_mm256_cvtps_epi32(n), splat_ints8(127)));
  return mul8(y, floats_of8(power));
}

// log(1 + x) for x in [0, 1], as exact for the smallest: 2 artanh(x / (2 + x)) by its series.
inline Vec8 log1p_of_unit8(Vec8 x) {
  const Vec8 s = div8(x, add8(x, splat8(2.0F)));
  const Vec8 square = mul8(s, s);
  Vec8 y = splat8(1.0F / 13);
  for (const float c : {1.0F / 11, 1.0F / 9, 1.0F / 7, 1.0F / 5, 1.0F / 3, 1.0F})
    y = fma8(y, square, splat8(c));
  return mul8(add8(s, s), y);
}

}  // namespace plimsoll::kernels
