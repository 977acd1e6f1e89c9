#include "kernels/max_pool.h"

#include <cstring>

#include "kernels/gather.h"

namespace plimsoll::kernels {
namespace {

Window pool_window(const Attrs& attrs, const Shape& x, const Shape& y) {
  const Ints& kernel = attrs.ints("kernel");
  return read_window(attrs, x, y, kernel[0], kernel[1]);
}

// The greatest cell seen so far and which tap it was; of equals the first.
struct Best {
  __m256 value;
  __m256i tap;

  Best(__m256 first, std::int64_t at)
      : value(first), tap(_mm256_set1_epi32(static_cast<int>(at))) {}

  void meet(__m256 x, std::int64_t at) {
    const __m256 greater = _mm256_cmp_ps(x, value, _CMP_GT_OQ);
    value = _mm256_blendv_ps(value, x, greater);
    tap = _mm256_blendv_epi8(tap, _mm256_set1_epi32(static_cast<int>(at)),
                             _mm256_castps_si256(greater));
  }
};

void store_taps(std::uint8_t* to, __m256i taps) {
  const __m128i words =
      _mm_packus_epi32(_mm256_castsi256_si128(taps), _mm256_extracti128_si256(taps, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
}

__m256i load_taps(const std::uint8_t* from) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}

// One plane. kSize > 0: a square window of that size, unrolled where it lies wholly inside the
// image.
template <int kSize>
void pool_plane(const Window& window, const float* x, float* y, std::uint8_t* positions,
                __m256i lanes) {
  const Slide &h = window.h, &w = window.w;
  const Range inner = w.inner();
  for (std::int64_t oh = 0; oh < h.out; ++oh) {
    const Range rows = h.taps(oh);
    const auto put = [&](std::int64_t ow, const Best& best) {
      store_cell(y, oh * w.out + ow, best.value);
      if (positions != nullptr)
        store_taps(positions + (oh * w.out + ow) * kLanes, _mm256_and_si256(best.tap, lanes));
    };
    const auto edges = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t ow = first; ow < last; ++ow) {
        const Range columns = w.taps(ow);
        const auto cell = [&](std::int64_t kh, std::int64_t kw) {
          return load_cell(x, h.at(oh, kh) * w.in + w.at(ow, kw));
        };
        Best best(cell(rows.first, columns.first), rows.first * w.kernel + columns.first);
        for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
          for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
            best.meet(cell(kh, kw), kh * w.kernel + kw);
        put(ow, best);
      }
    };
    if (kSize == 0 || rows.last - rows.first < kSize) {
      edges(0, w.out);
      continue;
    }
    edges(0, inner.first);
    for (std::int64_t ow = inner.first; ow < inner.last; ++ow) {
      const float* corner = x + (h.at(oh, 0) * w.in + w.at(ow, 0)) * kLanes;
      Best best(load_cell(corner, 0), 0);
      for (int kh = 0; kh < kSize; ++kh)
        for (int kw = kh == 0 ? 1 : 0; kw < kSize; ++kw)
          best.meet(load_cell(corner + kh * w.in * kLanes, kw), kh * kSize + kw);
      put(ow, best);
    }
    edges(inner.last, w.out);
  }
}

}  // namespace

void max_pool(const Attrs& attrs, const Args& args) noexcept {
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
      pool(window, plane<float>(x, n, block), plane<float>(y, n, block),
           args.out.size() > 1 ? plane<std::uint8_t>(args.out[1], n, block) : nullptr,
           channel_lanes(shape[1], block));
}

void max_pool_grad(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &positions = args.in[1], &dx = args.out[0];
  const Shape& shape = dy.spec.shape;
  const Window window = pool_window(attrs, dx.spec.shape, shape);
  const Range all = {0, window.w.out};
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const float* from = plane<float>(dy, n, block);
      const std::uint8_t* taps = plane<std::uint8_t>(positions, n, block);
      const auto term = [&](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw) {
        const std::int64_t cell = oh * window.w.out + ow;
        const __m256i tap = _mm256_set1_epi32(static_cast<int>(kh * window.w.kernel + kw));
        const __m256i hit = _mm256_cmpeq_epi32(load_taps(taps + cell * kLanes), tap);
        return _mm256_and_ps(load_cell(from, cell), _mm256_castsi256_ps(hit));
      };
      gather_plane(window, all, plane<float>(dx, n, block), term, term);
    }
}

}  // namespace plimsoll::kernels
