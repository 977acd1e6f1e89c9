#include "kernels/batch_norm.h"

#include <cmath>

#include "kernels/simd/bn_channels.h"
#include "kernels/simd/half_plane.h"
#include "kernels/simd/plane.h"
#include "kernels/simd/stream.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// All bits set where the clamp passes gradient, judged by the value before it (or after: the same).
template <Clamp clamp>
Vec passes(Vec v) {
  Vec mask = greater(v, zero());
  if constexpr (clamp == Clamp::relu6) mask = both(mask, less(v, splat(6.0F)));
  return mask;
}

template <class Body>
void with_element_and_clamp(const TensorView& image, Clamp clamp, Body body) {
  with_element(image, [&]<class T>() {
    with_clamp(clamp, [&]<Clamp kClamp>() { body.template operator()<T, kClamp>(); });
  });
}

// f32 sums of at most this many pixels are added up in f64.
constexpr std::int64_t kChunk = 256;

}  // namespace

namespace {

template <class T>
void stats_of(const Args& args) {
  const TensorView& y = args.in[0];
  const std::int64_t images = y.spec.shape[0];
  const std::int64_t channels = y.spec.shape[1];
  const std::int64_t pixels = y.spec.shape[2] * y.spec.shape[3];
  float* mean = args.out[0].as<float>();
  float* variance = args.out[1].as<float>();
  for_each_streaming(blocks_of(channels), args.packed != nullptr, [&]<bool packs>(std::int64_t cb) {
    // Sums are taken around the first pixel: with a mean far from zero their difference keeps its
    // digits.
    const Vec pivot = load(plane<T>(y, 0, cb));
    LaneSums sum, squares;
    for (std::int64_t n = 0; n < images; ++n) {
      const T* p = plane<T>(y, n, cb);
      Vec largest = zero();
      for (std::int64_t begin = 0; begin < pixels; begin += kChunk) {
        const std::int64_t end = begin + kChunk < pixels ? begin + kChunk : pixels;
        Vec s0 = zero(), s1 = zero(), q0 = zero(), q1 = zero();
        std::int64_t i = begin;
        for (; i + 2 <= end; i += 2) {
          const Vec first = load(p + i * kLanes), second = load(p + (i + 1) * kLanes);
          if constexpr (packs) largest = max(largest, max(magnitude(first), magnitude(second)));
          const Vec a = sub(first, pivot);
          const Vec b = sub(second, pivot);
          s0 = add(s0, a);
          s1 = add(s1, b);
          q0 = fma(a, a, q0);
          q1 = fma(b, b, q1);
        }
        if (i < end) {
          const Vec last = load(p + i * kLanes);
          if constexpr (packs) largest = max(largest, magnitude(last));
          const Vec a = sub(last, pivot);
          s0 = add(s0, a);
          q0 = fma(a, a, q0);
        }
        sum.add(add(s0, s1));
        squares.add(add(q0, q1));
      }
      if constexpr (packs)
        pack_plane(p, pixels, largest,
                   args.packed + (n * blocks_of(channels) + cb) * packed_plane_bytes(pixels));
    }
    double s[kLanes], q[kLanes];
    float centre[kLanes];
    sum.store(s);
    squares.store(q);
    store(centre, pivot);
    const auto count = static_cast<double>(images * pixels);
    for (std::int64_t lane = 0; lane < kLanes && cb * kLanes + lane < channels; ++lane) {
      const double shift = s[lane] / count;
      const double spread = q[lane] / count - shift * shift;
      mean[cb * kLanes + lane] = static_cast<float>(centre[lane] + shift);
      variance[cb * kLanes + lane] = static_cast<float>(spread > 0 ? spread : 0);
    }
  });
}

}  // namespace

void bn_stats(const Attrs&, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { stats_of<T>(args); });
}

void bn_apply(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &y = args.in[0], &z = args.out[0];
  std::size_t next = 0;
  const BnParameters parameters = parameters_of(attrs, args, 1, &next);
  const TensorView* residual = attrs.flag("residual") ? &args.in[next] : nullptr;
  const std::int64_t images = y.spec.shape[0];
  const std::int64_t blocks = blocks_of(y.spec.shape[1]);
  const std::int64_t pixels = y.spec.shape[2] * y.spec.shape[3];
  with_element_and_clamp(y, clamp_of(attrs), [&]<class T, Clamp clamp>() {
    for_each_streaming(
        images * blocks, outgrows_caches(z.spec), [&]<bool streamed>(std::int64_t item) {
          const std::int64_t n = item / blocks, cb = item % blocks;
          const BnChannels c = parameters.block(cb);
          const T* from = plane<T>(y, n, cb);
          T* to = plane<T>(z, n, cb);
          if (residual != nullptr) {
            const T* extra = plane<T>(*residual, n, cb);
            for (std::int64_t i = 0; i < pixels * kLanes; i += kLanes)
              put<streamed>(to + i, clamped<clamp>(add(fma(load(from + i), c.scale, c.shift),
                                                       load(extra + i))));
          } else {
            for (std::int64_t i = 0; i < pixels * kLanes; i += kLanes)
              put<streamed>(to + i, clamped<clamp>(fma(load(from + i), c.scale, c.shift)));
          }
        });
  });
}

namespace {

// Everything bn_grad reads and writes, as one block of channels sees it.
struct GradPlanes {
  static constexpr std::size_t kMostTerms = 2;
  const TensorView* dz[kMostTerms];
  std::size_t terms;
  const TensorView* y;
  const TensorView* z;  // null: the clamp is judged by the value re-made from y
  const TensorView* dy;
  const TensorView* dresidual;  // null: not wanted
  std::int64_t images, pixels;
};

// The gradient that arrives before the clamp, for one pixel.
template <Clamp clamp, std::size_t terms, bool from_z, class T>
Vec arriving(const T* const* dz, const T* y, const T* z, std::int64_t i, const BnChannels& c) {
  Vec g = load(dz[0] + i);
  for (std::size_t t = 1; t < terms; ++t) g = add(g, load(dz[t] + i));
  if constexpr (clamp != Clamp::none) {
    const Vec judged = from_z ? load(z + i) : fma(load(y + i), c.scale, c.shift);
    g = both(g, passes<clamp>(judged));
  }
  return g;
}

template <class T, Clamp clamp, std::size_t terms, bool from_z, bool streamed>
void grad_block(const GradPlanes& planes, const BnChannels& c, std::int64_t cb, std::int64_t lanes,
                bool training, float* dgamma, float* dbeta) {
  const T* dz[GradPlanes::kMostTerms] = {};
  const auto settle = [&](std::int64_t n) {
    for (std::size_t t = 0; t < terms; ++t) dz[t] = plane<T>(*planes.dz[t], n, cb);
  };
  const std::int64_t floats = planes.pixels * kLanes;
  LaneSums sum, product;
  for (std::int64_t n = 0; n < planes.images; ++n) {
    settle(n);
    const T* y = plane<T>(*planes.y, n, cb);
    const T* z = from_z ? plane<T>(*planes.z, n, cb) : nullptr;
    for (std::int64_t begin = 0; begin < floats; begin += kChunk * kLanes) {
      const std::int64_t end = begin + kChunk * kLanes < floats ? begin + kChunk * kLanes : floats;
      Vec s = zero(), p = zero();
      for (std::int64_t i = begin; i < end; i += kLanes) {
        const Vec g = arriving<clamp, terms, from_z>(dz, y, z, i, c);
        s = add(s, g);
        p = fma(g, sub(load(y + i), c.mean), p);
      }
      sum.add(s);
      product.add(p);
    }
  }
  double total[kLanes], along[kLanes];
  float inverse[kLanes], bias[kLanes], slope[kLanes];
  sum.store(total);
  product.store(along);
  store(inverse, c.inverse);
  const double count = static_cast<double>(planes.images * planes.pixels);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    const double scaled = along[lane] * inverse[lane];  // sum of g * xhat
    if (lane < lanes && dgamma != nullptr) dgamma[lane] = static_cast<float>(scaled);
    if (lane < lanes && dbeta != nullptr) dbeta[lane] = static_cast<float>(total[lane]);
    bias[lane] = training ? static_cast<float>(total[lane] / count) : 0.0F;
    slope[lane] = training ? static_cast<float>(scaled / count * inverse[lane]) : 0.0F;
  }
  // dy = scale * (g - mean(g) - (y - mean) * inverse * mean(g * xhat))
  const Vec b = load(bias), k = load(slope);
  for (std::int64_t n = 0; n < planes.images; ++n) {
    settle(n);
    const T* y = plane<T>(*planes.y, n, cb);
    const T* z = from_z ? plane<T>(*planes.z, n, cb) : nullptr;
    T* dy = plane<T>(*planes.dy, n, cb);
    T* dr = planes.dresidual ? plane<T>(*planes.dresidual, n, cb) : nullptr;
    for (std::int64_t i = 0; i < floats; i += kLanes) {
      const Vec g = arriving<clamp, terms, from_z>(dz, y, z, i, c);
      const Vec centred = sub(load(y + i), c.mean);
      const Vec rest = fnma(centred, k, sub(g, b));
      if (dr != nullptr) put<streamed>(dr + i, g);
      put<streamed>(dy + i, mul(rest, c.scale));
    }
  }
}

template <class T, Clamp clamp, bool from_z, bool streamed>
void grad_block(const GradPlanes& planes, const BnChannels& c, std::int64_t cb, std::int64_t lanes,
                bool training, float* dgamma, float* dbeta) {
  if (planes.terms == 2)
    grad_block<T, clamp, 2, from_z, streamed>(planes, c, cb, lanes, training, dgamma, dbeta);
  else
    grad_block<T, clamp, 1, from_z, streamed>(planes, c, cb, lanes, training, dgamma, dbeta);
}

}  // namespace

void bn_grad(const Attrs& attrs, const Args& args) noexcept {
  GradPlanes planes{};
  planes.terms = static_cast<std::size_t>(attrs.integer("terms"));
  for (std::size_t t = 0; t < planes.terms; ++t) planes.dz[t] = &args.in[t];
  planes.y = &args.in[planes.terms];
  std::size_t next = 0;
  const BnParameters parameters = parameters_of(attrs, args, planes.terms + 1, &next);
  const bool from_z = attrs.flag("from_z");
  planes.z = from_z ? &args.in[next] : nullptr;
  std::size_t out = 0;
  planes.dy = &args.out[out++];
  const bool sums = attrs.flag("sums");
  float* dgamma = sums || attrs.flag("scale") ? args.out[out++].as<float>() : nullptr;
  float* dbeta = sums || attrs.flag("center") ? args.out[out++].as<float>() : nullptr;
  planes.dresidual = attrs.flag("residual") ? &args.out[out] : nullptr;
  const Shape& shape = planes.y->spec.shape;
  planes.images = shape[0];
  planes.pixels = shape[2] * shape[3];
  const bool training = attrs.flag("training");
  with_element_and_clamp(*planes.y, clamp_of(attrs), [&]<class T, Clamp clamp>() {
    for_each_streaming(
        blocks_of(shape[1]), outgrows_caches(planes.dy->spec), [&]<bool streamed>(std::int64_t cb) {
          const BnChannels c = parameters.block(cb);
          const std::int64_t lanes = shape[1] - cb * kLanes;
          float* dg = dgamma ? dgamma + cb * kLanes : nullptr;
          float* db = dbeta ? dbeta + cb * kLanes : nullptr;
          if (from_z)
            grad_block<T, clamp, true, streamed>(planes, c, cb, lanes, training, dg, db);
          else
            grad_block<T, clamp, false, streamed>(planes, c, cb, lanes, training, dg, db);
        });
  });
}

void bn_centre(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &y = args.in[1], &to = args.out[0];
  const BnParameters parameters = parameters_of(attrs, args, 4);
  const std::int64_t channels = y.spec.shape[1];
  const std::int64_t blocks = blocks_of(channels);
  const std::int64_t pixels = y.spec.shape[2] * y.spec.shape[3];
  const Vec share = splat(1.0F / static_cast<float>(pixels));
  with_element(y, [&]<class T>() {
    for_each_streaming(
        y.spec.shape[0] * blocks, outgrows_caches(to.spec), [&]<bool streamed>(std::int64_t item) {
          const std::int64_t n = item / blocks, cb = item % blocks;
          const BnChannels c = parameters.block(cb);
          const std::int64_t lanes = channels - cb * kLanes;
          const auto mean_of = [&](std::size_t operand) {
            return mul(load_part(args.in[operand].as<float>() + cb * kLanes, lanes), share);
          };
          const Vec slope = mul(mul(mean_of(2), c.inverse), c.scale);
          const Vec bias = mul(mean_of(3), c.scale);
          const T* gradient = plane<T>(dy, n, cb);
          const T* from = plane<T>(y, n, cb);
          T* result = plane<T>(to, n, cb);
          for (std::int64_t i = 0; i < pixels * kLanes; i += kLanes) {
            const Vec centred = sub(load(from + i), c.mean);
            put<streamed>(result + i, fnma(centred, slope, sub(load(gradient + i), bias)));
          }
        });
  });
}

void constant_norm_grad(const Attrs& attrs, const Args& args) noexcept {
  const TensorView& dz = args.in[0];
  const auto terms = static_cast<std::size_t>(attrs.integer("terms"));
  const TensorView* more = terms == 2 ? &args.in[1] : nullptr;
  const BnParameters parameters = parameters_of(attrs, args, terms);
  const TensorView& dy = args.out[0];
  const TensorView* dresidual = attrs.flag("residual") ? &args.out[1] : nullptr;
  const std::int64_t blocks = blocks_of(dz.spec.shape[1]);
  const std::int64_t floats = dz.spec.shape[2] * dz.spec.shape[3] * kLanes;
  with_element_and_clamp(dz, clamp_of(attrs), [&]<class T, Clamp clamp>() {
    for_each_streaming(
        dz.spec.shape[0] * blocks, outgrows_caches(dy.spec), [&]<bool streamed>(std::int64_t item) {
          const std::int64_t n = item / blocks, cb = item % blocks;
          const Vec scale = parameters.block(cb).scale;
          const T* first = plane<T>(dz, n, cb);
          const T* second = more != nullptr ? plane<T>(*more, n, cb) : nullptr;
          const T* z = clamp != Clamp::none ? plane<T>(args.in.back(), n, cb) : nullptr;
          T* to = plane<T>(dy, n, cb);
          T* beside = dresidual != nullptr ? plane<T>(*dresidual, n, cb) : nullptr;
          for (std::int64_t i = 0; i < floats; i += kLanes) {
            Vec g = load(first + i);
            if (second != nullptr) g = add(g, load(second + i));
            if constexpr (clamp != Clamp::none) g = both(g, passes<clamp>(load(z + i)));
            if (beside != nullptr) put<streamed>(beside + i, g);
            put<streamed>(to + i, mul(g, scale));
          }
        });
  });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
