// Accurate sums over planes, in an order that depends on nothing but their size.
#pragma once

#include <algorithm>

#include "kernels/simd/plane.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Of every lane: short runs of cells are summed in f32, the runs in f64.
class PlaneSum {
 public:
  template <class T>
  void add_plane(const T* x, std::int64_t cells) {
    for (std::int64_t i = 0; i < cells; i += kRun)
      add_cell(run_of(x + i * kLanes, std::min(kRun, cells - i)));
  }

  void add_cell(Vec value) { sum_.add(value); }
  Vec scaled(double factor) const { return sum_.scaled(factor); }

 private:
  static constexpr std::int64_t kRun = 64;

  template <class T>
  static Vec run_of(const T* x, std::int64_t cells) {
    Vec a = zero(), b = a, c = a, d = a;
    std::int64_t i = 0;
    for (; i + 4 <= cells; i += 4) {
      a = add(a, load_cell(x, i));
      b = add(b, load_cell(x, i + 1));
      c = add(c, load_cell(x, i + 2));
      d = add(d, load_cell(x, i + 3));
    }
    for (; i < cells; ++i) a = add(a, load_cell(x, i));
    return add(add(a, b), add(c, d));
  }

  LaneSums sum_;
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
