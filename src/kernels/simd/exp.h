// exp and log1p, where losses need them.
#pragma once

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// exp of what is not positive, within 2 units of the last place; below -87 as of -87. NaN stays.
inline Vec exp_of_negative(Vec x) {
  x = max(splat(-87.0F), x);
  const Vec n = to_whole(mul(x, splat(1.44269504F)));
  // ln 2 in two parts, so that r is exact.
  const Vec r = fnma(n, splat(-2.12194440e-4F), fnma(n, splat(0.693359375F), x));
  Vec y = splat(1.9875691500e-4F);
  for (const float c :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    y = fma(y, r, splat(c));
  y = add(fma(y, mul(r, r), r), splat(1.0F));
  const IntVec power = shift_left<23>(add(whole_ints(n), splat_ints(127)));
  return mul(y, floats_of(power));
}

// log(1 + x) for x in [0, 1], as exact for the smallest: 2 artanh(x / (2 + x)) by its series.
inline Vec log1p_of_unit(Vec x) {
  const Vec s = div(x, add(x, splat(2.0F)));
  const Vec square = mul(s, s);
  Vec y = splat(1.0F / 13);
  for (const float c : {1.0F / 11, 1.0F / 9, 1.0F / 7, 1.0F / 5, 1.0F / 3, 1.0F})
    y = fma(y, square, splat(c));
  return mul(add(s, s), y);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
