#include "kernels/avg_pool.h"

#include "kernels/simd/gather.h"
#include "kernels/simd/stretch.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

Window pool_window(const Attrs& attrs, const Shape& x, const Shape& y) {
  const Ints& kernel = attrs.ints("kernel");
  return read_window(attrs, x, y, kernel[0], kernel[1]);
}

Vec share_of(const Range& rows, const Range& columns) {
  return splat(1.0f /
               static_cast<float>((rows.last - rows.first) * (columns.last - columns.first)));
}

// A row of windows that lie wholly between the left and right margins: all cells get the same
// share.
template <class T>
struct SharedRow {
  static constexpr bool kSameForAllTaps = true;
  const T* dy;
  Vec share;

  Vec operator()(std::int64_t ow, std::int64_t) const { return mul(load_cell(dy, ow), share); }
};

// One stretch of 3x3 windows. By value: see gather_cells.
template <class Size, class T>
void pool_stretch(const T* x, T* y, Stretch s) {
  const Vec share = splat(1.0f / static_cast<float>(Size::rows * Size::columns));
  const T* corner = x + s.input * kLanes;
  for (std::int64_t i = 0; i < s.count; ++i, corner += s.next_window * kLanes) {
    Vec sum[Size::tile];
    for (auto& one : sum) one = zero();
#pragma GCC unroll 8
    for (int r = 0; r < Size::rows + Size::tile - 1; ++r) {
      Vec row = zero();
#pragma GCC unroll 8
      for (int c = 0; c < Size::columns; ++c) row = add(row, load_cell(corner, r * s.next_row + c));
#pragma GCC unroll 8
      for (int t = 0; t < Size::tile; ++t)
        if (t <= r && r < t + Size::rows) sum[t] = add(sum[t], row);
    }
#pragma GCC unroll 8
    for (int t = 0; t < Size::tile; ++t)
      store_cell(y, s.output + t * s.next_output_row + i, mul(sum[t], share));
  }
}

template <class T>
void pool_any(const Window& window, const T* x, T* y) {
  const Slide &h = window.h, &w = window.w;
  for (std::int64_t oh = 0; oh < h.out; ++oh)
    for (std::int64_t ow = 0; ow < w.out; ++ow) {
      const Range rows = h.taps(oh), columns = w.taps(ow);
      Vec sum = zero();
      for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
        for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
          sum = add(sum, load_cell(x, h.at(oh, kh) * w.in + w.at(ow, kw)));
      store_cell(y, oh * w.out + ow, mul(sum, share_of(rows, columns)));
    }
}

template <class T>
void pool_plane(const Window& window, const T* x, T* y) {
  if (window.h.kernel != 3 || window.w.kernel != 3) return pool_any(window, x, y);
  for_each_stretch(window, {0, window.h.out}, [=]<class Size>(Size, const Stretch& stretch) {
    pool_stretch<Size>(x, y, stretch);
  });
}

// The shares depend on row and column apart: 1/(r*c) = 1/r * 1/c, tabled in scratch.
class GradJob final : public Job {
 public:
  explicit GradJob(const Window& window) : window_(window) {}

  std::int64_t scratch() const override { return 4 * (window_.h.out + window_.w.out); }

  void run(const Args& args) noexcept override {
    with_element(args.in[0], [&]<class T>() { gather<T>(args); });
  }

 private:
  template <class T>
  void gather(const Args& args) const {
    const TensorView &dy = args.in[0], &dx = args.out[0];
    const Shape& shape = dy.spec.shape;
    const std::int64_t wide = window_.w.out;
    float* row_share = reinterpret_cast<float*>(args.scratch);
    float* column_share = row_share + window_.h.out;
    fill_shares(window_.h, row_share);
    fill_shares(window_.w, column_share);
    const float whole = 1.0f / static_cast<float>(window_.w.kernel);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
        const T* from = plane<T>(dy, n, block);
        const auto row = [=](std::int64_t oh, std::int64_t) {
          return SharedRow<T>{from + oh * wide * kLanes, splat(row_share[oh] * whole)};
        };
        const auto edge = [=](std::int64_t oh, std::int64_t ow, std::int64_t, std::int64_t) {
          return mul(load_cell(from, oh * wide + ow), splat(row_share[oh] * column_share[ow]));
        };
        gather_plane(window_, window_.w.inner(), plane<T>(dx, n, block), row, edge);
      }
  }

  static void fill_shares(const Slide& slide, float* shares) {
    for (std::int64_t o = 0; o < slide.out; ++o) {
      const Range taps = slide.taps(o);
      shares[o] = 1.0f / static_cast<float>(taps.last - taps.first);
    }
  }

  Window window_;
};

template <class T>
void pool_images(const Attrs& attrs, const Args& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const Window window = pool_window(attrs, shape, y.spec.shape);
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block)
      pool_plane(window, plane<T>(x, n, block), plane<T>(y, n, block));
}

}  // namespace

void avg_pool(const Attrs& attrs, const Args& args) noexcept {
  with_element(args.in[0], [&]<class T>() { pool_images<T>(attrs, args); });
}

std::unique_ptr<Job> prepare_avg_pool_grad(const Call& call) {
  const Spec &dy = call.in[0].spec, &dx = call.out[0].spec;
  return std::make_unique<GradJob>(pool_window(call.attrs, dx.shape, dy.shape));
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
