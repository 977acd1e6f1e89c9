#include "boxes/giou.h"

#include "boxes/overlap.h"

namespace plimsoll::boxes {
namespace {

// One side of both boxes, in one direction.
template <class T>
struct Side {
  T low, high, target_low, target_high;

  T shared() const { return smaller(high, target_high) - larger(low, target_low); }
  T enclosing() const { return larger(high, target_high) - smaller(low, target_low); }
  // By how much a corner decides a minimum or maximum.
  static T decides(bool clearly, bool equal) { return clearly ? T(1) : equal ? T(0.5) : T(0); }
  T shared_by_low() const { return -decides(low > target_low, low == target_low); }
  T shared_by_high() const { return decides(high < target_high, high == target_high); }
  T enclosing_by_low() const { return -decides(low < target_low, low == target_low); }
  T enclosing_by_high() const { return decides(high > target_high, high == target_high); }
};

}  // namespace

template <class T>
T giou_loss(const Box<T>& box, const Box<T>& target, Box<T>& slope) {
  constexpr T kLeast = T(1e-7);
  const Side<T> x{box.x0, box.x1, target.x0, target.x1};
  const Side<T> y{box.y0, box.y1, target.y0, target.y1};
  const bool meet = x.shared() > 0 && y.shared() > 0;
  const T shared = meet ? x.shared() * y.shared() : T(0);
  const T cover = area_of(box) + area_of(target) - shared;
  const T enclosing = x.enclosing() * y.enclosing();
  const T of_cover = T(1) / (cover + kLeast);
  const T of_enclosing = T(1) / (enclosing + kLeast);
  const T by_cover = shared * of_cover * of_cover - of_enclosing;
  // What is covered shrinks by what is shared.
  const T by_shared = -of_cover - by_cover;
  const T by_enclosing = of_enclosing - (enclosing - cover) * of_enclosing * of_enclosing;
  const auto corner = [&](T area, T of_shared, T of_enclosed) {
    return by_cover * area + (meet ? by_shared * of_shared : T(0)) + by_enclosing * of_enclosed;
  };
  slope = {
      corner(-box.height(), x.shared_by_low() * y.shared(), x.enclosing_by_low() * y.enclosing()),
      corner(-box.width(), y.shared_by_low() * x.shared(), y.enclosing_by_low() * x.enclosing()),
      corner(box.height(), x.shared_by_high() * y.shared(), x.enclosing_by_high() * y.enclosing()),
      corner(box.width(), y.shared_by_high() * x.shared(), y.enclosing_by_high() * x.enclosing())};
  return T(1) - shared * of_cover + (enclosing - cover) * of_enclosing;
}

template float giou_loss(const Box<float>&, const Box<float>&, Box<float>&);
template double giou_loss(const Box<double>&, const Box<double>&, Box<double>&);

}  // namespace plimsoll::boxes
