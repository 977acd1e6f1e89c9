#include "kernels/elementwise.h"

#include <cmath>

#include "base/error.h"
#include "kernels/simd/plane.h"
#include "kernels/simd/runs.h"

namespace plimsoll::kernels {
namespace {

// Applies vector(i) to whole groups of 8 floats and scalar(i) to what is left of a plain tensor.
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
Vec8 rectified(Vec8 x, Vec8 alpha) {
  if constexpr (curve == Curve::leaky_relu) return select8(greater8(x, zero8()), x, mul8(x, alpha));
  const Vec8 y = max8(x, zero8());
  return curve == Curve::relu6 ? min8(y, splat8(6.0F)) : y;
}

template <Curve curve>
Vec8 rectified_grad(Vec8 dy, Vec8 saved, Vec8 alpha) {
  const Vec8 above = greater8(saved, zero8());
  if constexpr (curve == Curve::leaky_relu) return select8(above, dy, mul8(dy, alpha));
  if constexpr (curve == Curve::relu6) return and8(dy, and8(above, less8(saved, splat8(6.0F))));
  return and8(dy, above);
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

}  // namespace

std::optional<Curve> find_curve(std::string_view name) {
  if (name == "relu") return Curve::relu;
  if (name == "relu6") return Curve::relu6;
  if (name == "leaky_relu") return Curve::leaky_relu;
  if (name == "sigmoid") return Curve::sigmoid;
  if (name == "swish") return Curve::swish;
  if (name == "tanh") return Curve::tanh;
  return std::nullopt;
}

void clear_padding(const TensorView& view) noexcept {
  if (view.spec.layout != Layout::blocked || view.spec.shape[1] % kLanes == 0) return;
  const std::int64_t size = size_of(view.spec.dtype);
  const std::int64_t used = view.spec.shape[1] % kLanes;
  const std::int64_t pixels = view.spec.shape[2] * view.spec.shape[3];
  for (std::int64_t n = 0; n < view.spec.shape[0]; ++n) {
    std::byte* block =
        view.data + (n * view.image_stride + view.spec.shape[1] / kLanes * pixels * kLanes) * size;
    for (std::int64_t p = 0; p < pixels; ++p)
      for (std::int64_t byte = used * size; byte < kLanes * size; ++byte)
        block[p * kLanes * size + byte] = std::byte{0};
  }
}

namespace {

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
          [&](auto i) { store8(to + i, rectified<kind>(load8(from + i), splat8(leak))); },
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
            store8(to + i, rectified_grad<kind>(load8(from + i), load8(judge + i), splat8(leak)));
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
          Vec8 sum = load8(term(0) + i);
          for (std::size_t t = 1; t < last; ++t) sum = add8(sum, load8(term(t) + i));
          store8(to + i, fma8(load8(final_term + i), splat8(factor), sum));
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

}  // namespace plimsoll::kernels
