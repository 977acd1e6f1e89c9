#include "kernels/upsample.h"

#include <cstring>

#include "kernels/simd/plane.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

template <class T>
void repeat_cells(const Attrs& attrs, const Args& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const std::int64_t scale_h = attrs.ints("scale")[0], scale_w = attrs.ints("scale")[1];
  const std::int64_t wide = shape[3] * scale_w;
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const T* from = plane<T>(x, n, block);
      T* to = plane<T>(y, n, block);
      for (std::int64_t h = 0; h < shape[2]; ++h) {
        T* first = to + h * scale_h * wide * kLanes;
        for (std::int64_t w = 0; w < shape[3]; ++w) {
          const Vec value = load_cell(from, h * shape[3] + w);
          for (std::int64_t k = 0; k < scale_w; ++k) store_cell(first, w * scale_w + k, value);
        }
        for (std::int64_t k = 1; k < scale_h; ++k)
          std::memcpy(first + k * wide * kLanes, first,
                      static_cast<std::size_t>(wide * kLanes) * sizeof(T));
      }
    }
}

template <class T>
void add_cells(const Attrs& attrs, const Args& args) {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  const Shape& shape = dx.spec.shape;
  const std::int64_t scale_h = attrs.ints("scale")[0], scale_w = attrs.ints("scale")[1];
  const std::int64_t wide = shape[3] * scale_w;
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const T* from = plane<T>(dy, n, block);
      T* to = plane<T>(dx, n, block);
      for (std::int64_t h = 0; h < shape[2]; ++h)
        for (std::int64_t w = 0; w < shape[3]; ++w) {
          Vec sum = zero();
          for (std::int64_t kh = 0; kh < scale_h; ++kh)
            for (std::int64_t kw = 0; kw < scale_w; ++kw)
              sum = add(sum, load_cell(from, (h * scale_h + kh) * wide + w * scale_w + kw));
          store_cell(to, h * shape[3] + w, sum);
        }
    }
}

}  // namespace

void upsample(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { repeat_cells<T>(attrs, args); });
}

void upsample_grad(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { add_cells<T>(attrs, args); });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
