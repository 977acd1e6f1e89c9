#include "kernels/depthwise.h"

#include "kernels/simd/depthwise_three.h"
#include "kernels/simd/gather.h"
#include "kernels/simd/stream.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

bool rectifies(const Attrs& attrs) { return attrs.word("input_activation") == "relu"; }

Window window_of(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y) {
  return read_window(attrs, x, y, w[2], w[3]);
}

// Row oh of a plane: sums of products over the real taps.
template <class T, class Read, class Tap, class Put>
void slide_any(const Window& window, const T* x, std::int64_t oh, Read read, Tap tap, Put put) {
  const Slide &h = window.h, &w = window.w;
  const Range rows = h.taps(oh);
  for (std::int64_t ow = 0; ow < w.out; ++ow) {
    const Range columns = w.taps(ow);
    Vec sum = zero();
    for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
      for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
        sum = fma(read(x, h.at(oh, kh) * w.in + w.at(ow, kw)), tap(kh, kw), sum);
    put(oh * w.out + ow, sum);
  }
}

template <class T, class Read, class Tap, class Put>
void slide_plane(const Window& window, const T* x, Read read, Tap tap, Put put) {
  if (window.h.kernel == 3 && window.w.kernel == 3) {
    for_each_stretch(window, {0, window.h.out}, [&]<class Size>(Size, const Stretch& stretch) {
      slide_stretch<Size>(x, stretch, read, tap, put);
    });
    return;
  }
  for (std::int64_t oh = 0; oh < window.h.out; ++oh) slide_any(window, x, oh, read, tap, put);
}

// `reader(block)` reads the cells of a block of channels.
template <class T, class Reader>
void forward_planes(const Window& window, const TensorView& x, const TensorView& w,
                    const TensorView& y, Reader reader) {
  const std::int64_t blocks = blocks_of(x.spec.shape[1]);
  for_each_streaming(
      x.spec.shape[0] * blocks, outgrows_caches(y.spec), [&]<bool streamed>(std::int64_t item) {
        const std::int64_t n = item / blocks, block = item % blocks;
        const float* weights = w.as<float>() + block * window.h.kernel * window.w.kernel * kLanes;
        T* to = plane<T>(y, n, block);
        slide_plane(
            window, plane<T>(x, n, block), reader(block),
            [weights, columns = window.w.kernel](std::int64_t kh, std::int64_t kw) {
              return load_cell(weights, kh * columns + kw);
            },
            [to](std::int64_t cell, Vec sum) { put<streamed>(to + cell * kLanes, sum); });
      });
}

// What a stride-1 window over x looks like from the other side: dx is dy slid over by the flipped
// window.
Slide flipped(const Slide& s) {
  return {.in = s.out,
          .out = s.in,
          .kernel = s.kernel,
          .stride = 1,
          .dilation = s.dilation,
          .before = (s.kernel - 1) * s.dilation - s.before};
}

// Strided and dilated at once: rare, so each cell looks for its windows one by one.
template <class T, class Tap, class Put>
void gather_any(const Window& window, const T* dy, Tap tap, Put put) {
  const Slide &h = window.h, &w = window.w;
  const auto window_at = [](const Slide& s, std::int64_t i, std::int64_t k) -> std::int64_t {
    const std::int64_t start = i + s.before - k * s.dilation;
    return start >= 0 && start % s.stride == 0 && start / s.stride < s.out ? start / s.stride : -1;
  };
  for (std::int64_t ih = 0; ih < h.in; ++ih)
    for (std::int64_t iw = 0; iw < w.in; ++iw) {
      Vec sum = zero();
      for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
        const std::int64_t oh = window_at(h, ih, kh);
        if (oh < 0) continue;
        for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
          const std::int64_t ow = window_at(w, iw, kw);
          if (ow >= 0) sum = fma(load_cell(dy, oh * w.out + ow), tap(kh, kw), sum);
        }
      }
      put(ih * w.in + iw, sum);
    }
}

// A row of windows, seen from a row of input cells that they cover with one row of weights.
template <class T>
struct WeightedRow {
  static constexpr bool kSameForAllTaps = false;
  const T* dy;
  const float* weights;

  Vec operator()(std::int64_t ow, std::int64_t kw) const {
    return mul(load_cell(dy, ow), load_cell(weights, kw));
  }
};

template <class T>
void mask_plane(const T* x, T* dx, std::int64_t cells) {
  for (std::int64_t i = 0; i < cells; ++i) {
    const Vec positive = greater(load_cell(x, i), zero());
    store_cell(dx, i, both(load_cell(dx, i), positive));
  }
}

// The plane of dx for one channel block. `x` is null where the input was not rectified.
template <class T>
void grad_input_plane(const Window& window, const T* dy, const float* weights, const T* x, T* dx) {
  const Slide &h = window.h, &w = window.w;
  const auto tap = [weights, columns = w.kernel](std::int64_t kh, std::int64_t kw) {
    return load_cell(weights, kh * columns + kw);
  };
  const auto put = [dx](std::int64_t cell, Vec sum) { store_cell(dx, cell, sum); };
  if (h.stride == 1 && w.stride == 1) {
    const auto turned = [weights, last = h.kernel * w.kernel - 1, columns = w.kernel](
                            std::int64_t kh, std::int64_t kw) {
      return load_cell(weights, last - kh * columns - kw);
    };
    const Window back = {flipped(h), flipped(w)};
    if (x == nullptr)
      slide_plane(back, dy, AsStored{}, turned, put);
    else
      slide_plane(back, dy, AsStored{}, turned, [dx, x](std::int64_t cell, Vec sum) {
        const Vec positive = greater(load_cell(x, cell), zero());
        store_cell(dx, cell, both(sum, positive));
      });
    return;
  }
  if (h.dilation == 1 && w.dilation == 1) {
    const auto row = [=, wide = w.out, columns = w.kernel](std::int64_t oh, std::int64_t kh) {
      return WeightedRow<T>{dy + oh * wide * kLanes, weights + kh * columns * kLanes};
    };
    gather_plane(window, {0, w.out}, dx, row,
                 [=](std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw) {
                   return row(oh, kh)(ow, kw);
                 });
  } else {
    gather_any(window, dy, tap, put);
  }
  if (x != nullptr) mask_plane(x, dx, h.in * w.in);
}

// Rows summed in f32 before they join an f64 total: enough to hide the conversion, and whole tiles.
std::int64_t rows_in_a_run(const Slide& w) { return 3 + 192 / w.out / 3 * 3; }

// One tap over the rows [first, last) of a plane.
template <class T, class Read>
Vec tap_over_rows(const Window& window, const T* x, const T* dy, Read read, std::int64_t kh,
                  std::int64_t kw, Range rows) {
  const Slide &h = window.h, &w = window.w;
  const Range columns = w.outputs(kw);
  Vec sum[2] = {zero(), zero()};
  for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
    if (!h.has(h.at(oh, kh))) continue;
    const T* from = x + h.at(oh, kh) * w.in * kLanes;
    const T* grad = dy + oh * w.out * kLanes;
    for (std::int64_t ow = columns.first; ow < columns.last; ++ow)
      sum[ow % 2] = fma(read(from, w.at(ow, kw)), load_cell(grad, ow), sum[ow % 2]);
  }
  return add(sum[0], sum[1]);
}

template <class T, class Read>
void grad_kernel_any(const Window& window, const TensorView& x, const TensorView& dy,
                     std::int64_t block, Read read, float* dw) {
  const Slide &h = window.h, &w = window.w;
  const std::int64_t run = rows_in_a_run(w);
  for (std::int64_t kh = 0; kh < h.kernel; ++kh)
    for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
      LaneSums total;
      for (std::int64_t n = 0; n < dy.spec.shape[0]; ++n)
        for (std::int64_t oh = 0; oh < h.out; oh += run)
          total.add(tap_over_rows(window, plane<T>(x, n, block), plane<T>(dy, n, block), read, kh,
                                  kw, {oh, std::min(oh + run, h.out)}));
      store_cell(dw, kh * w.kernel + kw, total.rounded());
    }
}

// All nine taps at once, so that x and dy are read once.
template <class T, class Read>
void grad_kernel_three(const Window& window, const TensorView& x, const TensorView& dy,
                       std::int64_t block, Read read, float* dw) {
  const Slide &h = window.h, &w = window.w;
  const std::int64_t run = rows_in_a_run(w);
  LaneSums total[9];
  for (std::int64_t n = 0; n < dy.spec.shape[0]; ++n) {
    const T* from = plane<T>(x, n, block);
    const T* grad = plane<T>(dy, n, block);
    for (std::int64_t start = 0; start < h.out; start += run) {
      Vec sum[9] = {};
      for_each_stretch(window, {start, std::min(start + run, h.out)},
                       [&]<class Size>(Size, const Stretch& stretch) {
                         add_stretch<Size>(from, grad, stretch, read, sum);
                       });
      for (int t = 0; t < 9; ++t) total[t].add(sum[t]);
    }
  }
  for (int t = 0; t < 9; ++t) store_cell(dw, t, total[t].rounded());
}

template <Clamp clamp>
auto normalising(const BnParameters& parameters) {
  return [&parameters](std::int64_t block) {
    const BnChannels c = parameters.block(block);
    return Normalised<clamp>{c.scale, c.shift};
  };
}

template <class T, class Reader>
void grad_kernel_blocks(const Attrs& attrs, const TensorView& x, const TensorView& dy,
                        const TensorView& dw, Reader reader) {
  const Shape& shape = x.spec.shape;
  const Window window = window_of(attrs, shape, dw.spec.shape, dy.spec.shape);
  const std::int64_t taps = window.h.kernel * window.w.kernel;
  const bool three = window.h.kernel == 3 && window.w.kernel == 3;
#pragma omp parallel for
  for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
    float* to = dw.as<float>() + block * taps * kLanes;
    if (three)
      grad_kernel_three<T>(window, x, dy, block, reader(block), to);
    else
      grad_kernel_any<T>(window, x, dy, block, reader(block), to);
  }
}

// Calls body.template operator()<T>(reader) with how `x` is read.
template <class Body>
void with_reader(const Attrs& attrs, const TensorView& x, Body body) {
  with_element(x, [&]<class T>() {
    if (rectifies(attrs))
      body.template operator()<T>([](std::int64_t) { return Rectified{}; });
    else
      body.template operator()<T>([](std::int64_t) { return AsStored{}; });
  });
}

// The same where x is normalised, by the operands that stand behind the first two.
template <class Body>
void with_normalising_reader(const Attrs& attrs, const Args& args, Body body) {
  const BnParameters parameters = parameters_of(attrs, args, 2);
  with_element(args.in[0], [&]<class T>() {
    with_clamp(clamp_of(attrs),
               [&]<Clamp clamp>() { body.template operator()<T>(normalising<clamp>(parameters)); });
  });
}

}  // namespace

void depthwise(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  const Window window = window_of(attrs, x.spec.shape, w.spec.shape, y.spec.shape);
  with_reader(attrs, x, [&]<class T>(auto reader) { forward_planes<T>(window, x, w, y, reader); });
}

void bn_depthwise(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  const Window window = window_of(attrs, x.spec.shape, w.spec.shape, y.spec.shape);
  with_normalising_reader(
      attrs, args, [&]<class T>(auto reader) { forward_planes<T>(window, x, w, y, reader); });
}

void depthwise_grad_input(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
  const Shape& shape = dx.spec.shape;
  const Window window = window_of(attrs, shape, w.spec.shape, dy.spec.shape);
  const bool masked = args.in.size() > 2;
  with_element(dy, [&]<class T>() {
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block)
        grad_input_plane<T>(window, plane<T>(dy, n, block),
                            w.as<float>() + block * window.h.kernel * window.w.kernel * kLanes,
                            masked ? plane<T>(args.in[2], n, block) : nullptr,
                            plane<T>(dx, n, block));
  });
}

void depthwise_grad_kernel(const Attrs& attrs, const Args& args) noexcept {
  with_reader(attrs, args.in[0], [&]<class T>(auto reader) {
    grad_kernel_blocks<T>(attrs, args.in[0], args.in[1], args.out[0], reader);
  });
}

void bn_depthwise_grad_kernel(const Attrs& attrs, const Args& args) noexcept {
  with_normalising_reader(attrs, args, [&]<class T>(auto reader) {
    grad_kernel_blocks<T>(attrs, args.in[0], args.in[1], args.out[0], reader);
  });
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
