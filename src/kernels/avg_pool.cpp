#include "kernels/avg_pool.h"

#include "kernels/gather.h"

namespace plimsoll::kernels {
namespace {

Window pool_window(const Attrs& attrs, const Shape& x, const Shape& y) {
  const Ints& kernel = attrs.ints("kernel");
  return read_window(attrs, x, y, kernel[0], kernel[1]);
}

__m256 share_of(const Range& rows, const Range& columns) {
  return _mm256_set1_ps(
      1.0f / static_cast<float>((rows.last - rows.first) * (columns.last - columns.first)));
}

// kSize > 0: a square window of that size, unrolled where it lies wholly inside the image.
template <int kSize>
void pool_plane(const Window& window, const float* x, float* y) {
  const Slide &h = window.h, &w = window.w;
  const Range inner = w.inner();
  for (std::int64_t oh = 0; oh < h.out; ++oh) {
    const Range rows = h.taps(oh);
    const auto edges = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t ow = first; ow < last; ++ow) {
        const Range columns = w.taps(ow);
        __m256 sum = _mm256_setzero_ps();
        for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
          for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
            sum = _mm256_add_ps(sum, load_cell(x, h.at(oh, kh) * w.in + w.at(ow, kw)));
        store_cell(y, oh * w.out + ow, _mm256_mul_ps(sum, share_of(rows, columns)));
      }
    };
    if (kSize == 0 || rows.last - rows.first < kSize) {
      edges(0, w.out);
      continue;
    }
    edges(0, inner.first);
    const __m256 share = share_of(rows, {0, kSize});
    for (std::int64_t ow = inner.first; ow < inner.last; ++ow) {
      const float* corner = x + (h.at(oh, 0) * w.in + w.at(ow, 0)) * kLanes;
      __m256 sum = _mm256_setzero_ps();
      for (int kh = 0; kh < kSize; ++kh)
        for (int kw = 0; kw < kSize; ++kw)
          sum = _mm256_add_ps(sum, load_cell(corner + kh * w.in * kLanes, kw));
      store_cell(y, oh * w.out + ow, _mm256_mul_ps(sum, share));
    }
    edges(inner.last, w.out);
  }
}

}  // namespace

void avg_pool(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const Window window = pool_window(attrs, shape, y.spec.shape);
  const bool square = window.h.kernel == window.w.kernel;
  const auto pool = square && window.h.kernel == 3   ? pool_plane<3>
                    : square && window.h.kernel == 2 ? pool_plane<2>
                                                     : pool_plane<0>;
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block)
      pool(window, plane<float>(x, n, block), plane<float>(y, n, block));
}

void avg_pool_grad(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  const Shape& shape = dy.spec.shape;
  const Window window = pool_window(attrs, dx.spec.shape, shape);
  const Slide &h = window.h, &w = window.w;
  const Range whole = h.inner();
  const __m256 share = share_of({0, h.kernel}, {0, w.kernel});
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const float* from = plane<float>(dy, n, block);
      const auto inner = [&](std::int64_t oh, std::int64_t ow, std::int64_t, std::int64_t) {
        const __m256 part =
            oh >= whole.first && oh < whole.last ? share : share_of(h.taps(oh), {0, w.kernel});
        return _mm256_mul_ps(load_cell(from, oh * w.out + ow), part);
      };
      const auto edge = [&](std::int64_t oh, std::int64_t ow, std::int64_t, std::int64_t) {
        return _mm256_mul_ps(load_cell(from, oh * w.out + ow), share_of(h.taps(oh), w.taps(ow)));
      };
      gather_plane(window, w.inner(), plane<float>(dx, n, block), inner, edge);
    }
}

}  // namespace plimsoll::kernels
