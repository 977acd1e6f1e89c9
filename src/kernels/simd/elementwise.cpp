#include "kernels/elementwise.h"

#include <cmath>

#include "base/error.h"
#include "kernels/runs.h"
#include "kernels/simd/plane.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// Applies vector(i) to whole groups of kLanes floats and scalar(i) to what is left of a plain
// tensor.
template <class Vector, class Scalar>
void over_run(std::int64_t length, Vector vector, Scalar scalar) {
  std::int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) vector(i);
  for (; i < length; ++i) scalar(i);
}

float curve_at(Curve curve, float x, float alpha) {
  switch (curve) {
    case Curve::relu: return x > 0 ? x : 0.0F;
    case Curve::relu6: return x > 0 ? (x < 6 ? x : 6.0F) : 0.0F;
    case Curve::leaky_relu: return x > 0 ? x : alpha * x;
    case Curve::sigmoid: return 1 / (1 + std::exp(-x));
    case Curve::swish: return x / (1 + std::exp(-x));
    case Curve::tanh: return std::tanh(x);
  }
  bug("curve out of range");
}

float slope_at(Curve curve, float saved, float alpha) {
  switch (curve) {
    case Curve::relu: return saved > 0 ? 1.0F : 0.0F;
    case Curve::relu6: return saved > 0 && saved < 6 ? 1.0F : 0.0F;
    case Curve::leaky_relu: return saved > 0 ? 1.0F : alpha;
    case Curve::sigmoid: return saved * (1 - saved);
    case Curve::swish: {
      const float s = 1 / (1 + std::exp(-saved));
      return s * (1 + saved * (1 - s));
    }
    case Curve::tanh: return 1 - saved * saved;
  }
  bug("curve out of range");
}

template <Curve curve>
Vec rectified(Vec x, Vec alpha) {
  if constexpr (curve == Curve::leaky_relu) return select(greater(x, zero()), x, mul(x, alpha));
  const Vec y = max(x, zero());
  return curve == Curve::relu6 ? min(y, splat(6.0F)) : y;
}

template <Curve curve>
Vec rectified_grad(Vec dy, Vec saved, Vec alpha) {
  const Vec above = greater(saved, zero());
  if constexpr (curve == Curve::leaky_relu) return select(above, dy, mul(dy, alpha));
  if constexpr (curve == Curve::relu6) return both(dy, both(above, less(saved, splat(6.0F))));
  return both(dy, above);
}

// Calls body.template operator()<curve>() if the curve is one of the rectifiers.
template <class Body>
bool if_rectifier(Curve curve, Body body) {
  switch (curve) {
    case Curve::relu: body.template operator()<Curve::relu>(); return true;
    case Curve::relu6: body.template operator()<Curve::relu6>(); return true;
    case Curve::leaky_relu: body.template operator()<Curve::leaky_relu>(); return true;
    default: return false;
  }
}

template <class T>
void activate(const Attrs& attrs, const Args& args) {
  const Curve curve = *find_curve(attrs.word("kind"));
  const auto alpha = static_cast<float>(attrs.real("alpha"));
  const TensorView &x = args.in[0], &y = args.out[0];
  const Runs runs(x.spec);
  const bool done = if_rectifier(curve, [&]<Curve kind>() {
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T* from = runs.of<T>(x, r);
      T* to = runs.of<T>(y, r);
      const float leak = alpha;  // here, because Clang 14 does not find it from the lambdas
      over_run(
          runs.length_of(r),
          [&](auto i) { store(to + i, rectified<kind>(load(from + i), splat(leak))); },
          [&](auto i) { to[i] = curve_at(kind, from[i], leak); });
    }
  });
  if (done) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < runs.count; ++r) {
    const T* from = runs.of<T>(x, r);
    T* to = runs.of<T>(y, r);
    for (std::int64_t i = 0; i < runs.length_of(r); ++i) to[i] = curve_at(curve, from[i], alpha);
  }
  clear_padding(y);
}

template <class T>
void activate_back(const Attrs& attrs, const Args& args) {
  const Curve curve = *find_curve(attrs.word("kind"));
  const auto alpha = static_cast<float>(attrs.real("alpha"));
  const TensorView &dy = args.in[0], &saved = args.in[1], &dx = args.out[0];
  const Runs runs(dy.spec);
  const bool done = if_rectifier(curve, [&]<Curve kind>() {
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T* from = runs.of<T>(dy, r);
      const T* judge = runs.of<T>(saved, r);
      T* to = runs.of<T>(dx, r);
      const float leak = alpha;
      over_run(
          runs.length_of(r),
          [&](auto i) {
            store(to + i, rectified_grad<kind>(load(from + i), load(judge + i), splat(leak)));
          },
          [&](auto i) { to[i] = from[i] * slope_at(kind, judge[i], leak); });
    }
  });
  if (done) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < runs.count; ++r) {
    const T* from = runs.of<T>(dy, r);
    const T* judge = runs.of<T>(saved, r);
    T* to = runs.of<T>(dx, r);
    for (std::int64_t i = 0; i < runs.length_of(r); ++i)
      to[i] = from[i] * slope_at(curve, judge[i], alpha);
  }
}

template <class T>
void add_terms(const Attrs& attrs, const Args& args) {
  const auto factor = static_cast<float>(attrs.real("last_factor"));
  const TensorView& y = args.out[0];
  const Runs runs(y.spec);
  const std::size_t last = args.in.size() - 1;
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < runs.count; ++r) {
    T* to = runs.of<T>(y, r);
    const T* final_term = runs.of<T>(args.in[last], r);
    const auto term = [&](std::size_t t) { return runs.of<T>(args.in[t], r); };
    over_run(
        runs.length_of(r),
        [&](auto i) {
          Vec sum = load(term(0) + i);
          for (std::size_t t = 1; t < last; ++t) sum = add(sum, load(term(t) + i));
          store(to + i, fma(load(final_term + i), splat(factor), sum));
        },
        [&](auto i) {
          float sum = term(0)[i];
          for (std::size_t t = 1; t < last; ++t) sum += term(t)[i];
          to[i] = std::fma(final_term[i], factor, sum);
        });
  }
}

}  // namespace

void activation(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { activate<T>(attrs, args); });
}

void activation_grad(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { activate_back<T>(attrs, args); });
}

void add(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { add_terms<T>(attrs, args); });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
