#include "kernels/global_pool.h"

#include "kernels/simd/plane_sum.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// Block `block` of row n of a pooled tensor: f32 in a plain one, whose last block may be cut short;
// in a blocked one as the image is.
template <class T>
T* pooled_cell(const TensorView& y, std::int64_t n, std::int64_t block) {
  return y.image<T>(n) + block * kLanes;
}

template <class T>
Vec load_pooled(const TensorView& y, std::int64_t n, std::int64_t block) {
  if (y.spec.layout == Layout::blocked) return load(pooled_cell<T>(y, n, block));
  return load_part(pooled_cell<float>(y, n, block), y.spec.shape[1] - block * kLanes);
}

template <class T>
void store_pooled(const TensorView& y, std::int64_t n, std::int64_t block, Vec value) {
  if (y.spec.layout == Layout::blocked)
    store(pooled_cell<T>(y, n, block), both(value, channel_mask(y.spec.shape[1], block)));
  else
    store_part(pooled_cell<float>(y, n, block), value, y.spec.shape[1] - block * kLanes);
}

template <class T>
Vec mean_of(const T* x, std::int64_t cells) {
  PlaneSum sum;
  sum.add_plane(x, cells);
  return sum.scaled(1.0 / static_cast<double>(cells));
}

template <class T>
Vec maximum_of(const T* x, std::int64_t cells) {
  Vec best = load_cell(x, 0);
  for (std::int64_t i = 1; i < cells; ++i) {
    const Vec value = load_cell(x, i);
    best = select(greater(value, best), value, best);
  }
  return best;
}

template <class T>
void fill_plane(T* dx, std::int64_t cells, Vec value) {
  for (std::int64_t i = 0; i < cells; ++i) store_cell(dx, i, value);
}

// Each lane of `dy` goes to the first cell that holds the lane's maximum.
template <class T>
void place_maximum(const T* x, Vec best, Vec dy, T* dx, std::int64_t cells) {
  Vec open = all_lanes();
  for (std::int64_t i = 0; i < cells; ++i) {
    const Vec hit = both(open, equal(load_cell(x, i), best));
    store_cell(dx, i, both(dy, hit));
    open = unless(hit, open);
  }
}

template <class T>
void pool_images(const Attrs& attrs, const Args& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const std::int64_t cells = shape[2] * shape[3];
  const bool mean = attrs.word("kind") == "avg";
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const T* from = plane<T>(x, n, block);
      store_pooled<T>(y, n, block, mean ? mean_of(from, cells) : maximum_of(from, cells));
    }
}

template <class T>
void spread(const Attrs& attrs, const Args& args) {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  const Shape& shape = dx.spec.shape;
  const std::int64_t cells = shape[2] * shape[3];
  const bool mean = attrs.word("kind") == "avg";
  const Vec share = splat(1.0f / static_cast<float>(cells));
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const Vec grad = load_pooled<T>(dy, n, block);
      T* to = plane<T>(dx, n, block);
      if (mean)
        fill_plane(to, cells, mul(grad, share));
      else
        place_maximum(plane<T>(args.in[1], n, block), load_pooled<T>(args.in[2], n, block), grad,
                      to, cells);
    }
}

}  // namespace

void global_pool(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { pool_images<T>(attrs, args); });
}

void global_pool_grad(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.out[0], [&]<class T>() { spread<T>(attrs, args); });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
