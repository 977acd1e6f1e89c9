// Accurate sums over planes, in an order that depends on nothing but their size.
#pragma once

#include <algorithm>

#include "kernels/simd/plane.h"

namespace plimsoll::kernels {

// 8 lanes: short runs of cells are summed in f32, the runs in f64.
class PlaneSum {
 public:
  template <class T>
  void add_plane(const T* x, std::int64_t cells) {
    for (std::int64_t i = 0; i < cells; i += kRun)
      add(run_of(x + i * kLanes, std::min(kRun, cells - i)));
  }

  void add(Vec8 value) { sum_.add(value); }
  Vec8 scaled(double factor) const { return sum_.scaled(factor); }

 private:
  static constexpr std::int64_t kRun = 64;

  template <class T>
  static Vec8 run_of(const T* x, std::int64_t cells) {
    Vec8 a = zero8(), b = a, c = a, d = a;
    std::int64_t i = 0;
    for (; i + 4 <= cells; i += 4) {
      a = add8(a, load_cell(x, i));
      b = add8(b, load_cell(x, i + 1));
      c = add8(c, load_cell(x, i + 2));
      d = add8(d, load_cell(x, i + 3));
    }
    for (; i < cells; ++i) a = add8(a, load_cell(x, i));
    return add8(add8(a, b), add8(c, d));
  }

  Sum8 sum_;
};

}  // namespace plimsoll::kernels
