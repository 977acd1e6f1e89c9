#include "kernels/max_pool.h"

#include "kernels/simd/gather.h"
#include "kernels/simd/stretch.h"
#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

Window pool_window(const Attrs& attrs, const Shape& x, const Shape& y) {
  const Ints& kernel = attrs.ints("kernel");
  return read_window(attrs, x, y, kernel[0], kernel[1]);
}

// The greatest cell seen so far and which tap it was; of equals the first.
struct Best {
  Vec value;
  IntVec tap;

  Best(Vec first, std::int64_t at) : value(first), tap(splat_ints(at)) {}

  void meet(Vec x, std::int64_t at) {
    const Vec above = greater(x, value);
    value = select(above, x, value);
    tap = select(bits_of(above), splat_ints(at), tap);
  }
};

// A row of windows, seen from a row of input cells that they cover with the taps from `first_tap`
// on: each hands its gradient to the lanes whose maximum lay at the tap in question.
template <class T>
struct HitRow {
  static constexpr bool kSameForAllTaps = false;
  const T* dy;
  const std::uint8_t* taps;
  std::int64_t first_tap;

  Vec operator()(std::int64_t ow, std::int64_t kw) const {
    const IntVec tap = splat_ints(first_tap + kw);
    const IntVec hit = equal(load_bytes(taps + ow * kLanes), tap);
    return both(load_cell(dy, ow), floats_of(hit));
  }
};

// One stretch of 3x3 windows. By value: see gather_cells.
template <class Size, class T>
void pool_stretch(const T* x, T* y, std::uint8_t* positions, IntVec lanes, Stretch s) {
  const IntVec first_tap = splat_ints(s.first_row * 3 + s.first_column);
  const T* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
#pragma GCC unroll 8
    for (int t = 0; t < Size::tile; ++t) {
      const T* window = corner + t * s.next_row * kLanes;
      Best best(load_cell(window, 0), 0);
#pragma GCC unroll 8
      for (int r = 0; r < Size::rows; ++r)
#pragma GCC unroll 8
        for (int c = r == 0 ? 1 : 0; c < Size::columns; ++c)
          best.meet(load_cell(window, r * s.next_row + c), r * 3 + c);
      const std::int64_t cell = s.output + t * s.next_output_row + i;
      store_cell(y, cell, best.value);
      if (positions != nullptr)
        store_bytes(positions + cell * kLanes, both(add(best.tap, first_tap), lanes));
    }
  }
}

template <class T>
void pool_any(const Window& window, const T* x, T* y, std::uint8_t* positions, IntVec lanes) {
  const Slide &h = window.h, &w = window.w;
  for (std::int64_t oh = 0; oh < h.out; ++oh)
    for (std::int64_t ow = 0; ow < w.out; ++ow) {
      const Range rows = h.taps(oh), columns = w.taps(ow);
      const auto cell = [&](std::int64_t kh, std::int64_t kw) {
        return load_cell(x, h.at(oh, kh) * w.in + w.at(ow, kw));
      };
      Best best(cell(rows.first, columns.first), rows.first * w.kernel + columns.first);
      for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
        for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
          best.meet(cell(kh, kw), kh * w.kernel + kw);
      store_cell(y, oh * w.out + ow, best.value);
      if (positions != nullptr)
        store_bytes(positions + (oh * w.out + ow) * kLanes, both(best.tap, lanes));
    }
}

template <class T>
void pool_plane(const Window& window, const T* x, T* y, std::uint8_t* positions, IntVec lanes) {
  if (window.h.kernel != 3 || window.w.kernel != 3) return pool_any(window, x, y, positions, lanes);
  for_each_stretch(window, {0, window.h.out}, [=]<class Size>(Size, const Stretch& stretch) {
    pool_stretch<Size>(x, y, positions, lanes, stretch);
  });
}

template <class T>
void pool_images(const Attrs& attrs, const Args& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const Window window = pool_window(attrs, shape, y.spec.shape);
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block)
      pool_plane(window, plane<T>(x, n, block), plane<T>(y, n, block),
                 args.out.size() > 1 ? plane<std::uint8_t>(args.out[1], n, block) : nullptr,
                 bits_of(channel_mask(shape[1], block)));
}

template <class T>
void hand_back(const Attrs& attrs, const Args& args) {
  const TensorView &dy = args.in[0], &positions = args.in[1], &dx = args.out[0];
  const Shape& shape = dy.spec.shape;
  const Window window = pool_window(attrs, dx.spec.shape, shape);
  const std::int64_t wide = window.w.out, columns = window.w.kernel;
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const T* from = plane<T>(dy, n, block);
      const std::uint8_t* taps = plane<std::uint8_t>(positions, n, block);
      const auto row = [=](std::int64_t oh, std::int64_t kh) {
        return HitRow<T>{from + oh * wide * kLanes, taps + oh * wide * kLanes, kh * columns};
      };
      gather_plane(window, {0, wide}, plane<T>(dx, n, block), row,
                   [=](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw) {
                     return row(oh, kh)(ow, kw);
                   });
    }
}

}  // namespace

void max_pool(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { pool_images<T>(attrs, args); });
}

void max_pool_grad(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { hand_back<T>(attrs, args); });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
