#include "kernels/direct_convolution.h"

#include "kernels/convolution_shape.h"
#include "kernels/simd/plane.h"
#include "kernels/transpose.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// How the channels of the input and the weights lie. A plain image is one block of few channels
// whose planes are far apart; a blocked one has many blocks whose channels are neighbours.
struct Layouts {
  std::int64_t lanes;         // channels in a block
  std::int64_t in_blocks;     // blocks of input channels in a group
  std::int64_t out_blocks;    // blocks of filters in a group
  std::int64_t channel_step;  // from channel to channel of a block, in elements of x
  std::int64_t cell_step;     // from cell to cell
  std::int64_t block_step;    // from block to block

  explicit Layouts(const ConvolutionShape& s) {
    const std::int64_t cells = s.window.h.in * s.window.w.in;
    lanes = s.plain_input ? s.channels : kLanes;
    in_blocks = s.plain_input ? 1 : s.channels / s.groups / kLanes;
    out_blocks = s.filters / s.groups / kLanes;
    channel_step = s.plain_input ? cells : 1;
    cell_step = s.plain_input ? 1 : kLanes;
    block_step = cells * kLanes;
  }

  // First block of x that filters of block `out` read.
  std::int64_t first_input(std::int64_t out) const { return out / out_blocks * in_blocks; }
};

// Weights of one pair of blocks and one tap: lanes x kLanes.
std::int64_t tap_weights(const ConvolutionShape& s, const Layouts& l, std::int64_t out,
                         std::int64_t in, std::int64_t kh, std::int64_t kw) {
  const Slide &h = s.window.h, &w = s.window.w;
  return (((out * l.in_blocks + in) * h.kernel + kh) * w.kernel + kw) * l.lanes * kLanes;
}

class ForwardJob final : public Job {
 public:
  explicit ForwardJob(const ConvolutionShape& shape) : s_(shape), l_(shape) {}

  void run(const Args& args) noexcept override {
    with_element(args.in[0], [&]<class T>() { run_as<T>(args); });
  }

 private:
  template <class T>
  void run_as(const Args& args) const {
    const Range inner = s_.window.w.inner();
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < s_.images; ++n)
      for (std::int64_t out = 0; out < s_.filters / kLanes; ++out)
        for (std::int64_t oh = 0; oh < s_.window.h.out; ++oh) {
          std::int64_t ow = 0;
          for (; ow < inner.first; ++ow) cells<1, T>(args, n, out, oh, ow);
          for (; ow + kSumRows <= inner.last; ow += kSumRows)
            cells<kSumRows, T>(args, n, out, oh, ow);
          for (; ow < s_.window.w.out; ++ow) cells<1, T>(args, n, out, oh, ow);
        }
  }

  // kCells results side by side that read the same taps.
  template <int kCells, class T>
  void cells(const Args& args, std::int64_t n, std::int64_t out, std::int64_t oh,
             std::int64_t ow) const {
    const Slide &h = s_.window.h, &w = s_.window.w;
    const T* x = args.in[0].image<T>(n) + l_.first_input(out) * l_.block_step;
    const float* weights = args.in[1].as<float>();
    const Range rows = h.taps(oh), columns = w.taps(ow);
    const std::int64_t step = w.stride * l_.cell_step;
    const Vec bias = s_.bias == 0
                         ? zero()
                         : load_part(args.in[2].as<float>() + out * kLanes, s_.bias - out * kLanes);
    Vec sum[kCells];
    for (auto& cell : sum) cell = bias;
    for (std::int64_t in = 0; in < l_.in_blocks; ++in)
      for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
        for (std::int64_t kw = columns.first; kw < columns.last; ++kw) {
          const T* from =
              x + in * l_.block_step + (h.at(oh, kh) * w.in + w.at(ow, kw)) * l_.cell_step;
          const float* tap = weights + tap_weights(s_, l_, out, in, kh, kw);
          for (std::int64_t c = 0; c < l_.lanes; ++c) {
            const Vec weight = load_cell(tap, c);
            for (int i = 0; i < kCells; ++i)
              sum[i] = fma(splat(from + i * step + c * l_.channel_step), weight, sum[i]);
          }
        }
    T* y = plane<T>(args.out[0], n, out);
    for (int i = 0; i < kCells; ++i) store_cell(y, oh * w.out + ow + i, sum[i]);
  }

  ConvolutionShape s_;
  Layouts l_;
};

class GradInputJob final : public Job {
 public:
  explicit GradInputJob(const ConvolutionShape& shape) : s_(shape), l_(shape) {}

  std::int64_t scratch() const override { return 4 * s_.weights(); }

  void run(const Args& args) noexcept override {
    float* turned = reinterpret_cast<float*>(args.scratch);
    transpose_blocks(kLanes, {.outer = s_.weights() / (kLanes * kLanes)}, args.in[1].as<float>(),
                     turned);
    with_element(args.in[0], [&]<class T>() { run_as<T>(args, turned); });
  }

 private:
  static constexpr int kCells = kSumRows * 2 / 3;  // side by side

  template <class T>
  void run_as(const Args& args, const float* turned) const {
    const Slide& w = s_.window.w;
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < s_.images; ++n)
      for (std::int64_t in = 0; in < s_.channels / kLanes; ++in)
        for (std::int64_t ih = 0; ih < s_.window.h.in; ++ih)
          // Cells a stride apart see the same taps of neighbouring windows.
          for (std::int64_t first = 0; first < std::min(w.stride, w.in); ++first)
            for (std::int64_t iw = first; iw < w.in;) {
              const bool wide = is_inner(iw, kCells);
              if (wide)
                cells<kCells, T>(args, turned, n, in, ih, iw);
              else
                cells<1, T>(args, turned, n, in, ih, iw);
              iw += (wide ? kCells : 1) * w.stride;
            }
  }

  // The window that sees cell i at tap k; -1 if none does.
  static std::int64_t window_at(const Slide& s, std::int64_t i, std::int64_t k) {
    const std::int64_t start = i + s.before - k * s.dilation;
    return start >= 0 && start % s.stride == 0 && start / s.stride < s.out ? start / s.stride : -1;
  }

  // Whether `count` cells from column iw on, a stride apart, meet only windows that exist.
  bool is_inner(std::int64_t iw, std::int64_t count) const {
    const Slide& w = s_.window.w;
    if (iw + (count - 1) * w.stride >= w.in) return false;
    for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
      const std::int64_t start = iw + w.before - kw * w.dilation;
      if (start < 0 || start / w.stride + count > w.out) return false;
    }
    return true;
  }

  template <int kCount, class T>
  void cells(const Args& args, const float* turned, std::int64_t n, std::int64_t in,
             std::int64_t ih, std::int64_t iw) const {
    const Slide &h = s_.window.h, &w = s_.window.w;
    const std::int64_t group = in / l_.in_blocks;
    Vec sum[kCount];
    for (auto& cell : sum) cell = zero();
    for (std::int64_t out = group * l_.out_blocks; out < (group + 1) * l_.out_blocks; ++out) {
      const T* dy = plane<T>(args.in[0], n, out);
      for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
        const std::int64_t oh = window_at(h, ih, kh);
        if (oh < 0) continue;
        for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
          const std::int64_t ow = window_at(w, iw, kw);
          if (ow < 0) continue;
          const T* from = dy + (oh * w.out + ow) * kLanes;
          const float* tap = turned + tap_weights(s_, l_, out, in % l_.in_blocks, kh, kw);
          for (std::int64_t c = 0; c < kLanes; ++c) {
            const Vec weight = load_cell(tap, c);
            for (int i = 0; i < kCount; ++i)
              sum[i] = fma(splat(from + i * kLanes + c), weight, sum[i]);
          }
        }
      }
    }
    T* dx = plane<T>(args.out[0], n, in);
    for (int i = 0; i < kCount; ++i) store_cell(dx, ih * w.in + iw + i * w.stride, sum[i]);
  }

  ConvolutionShape s_;
  Layouts l_;
};

class GradKernelJob final : public Job {
 public:
  explicit GradKernelJob(const ConvolutionShape& shape) : s_(shape), l_(shape) {}

  void run(const Args& args) noexcept override {
    with_element(args.in[0], [&]<class T>() { run_as<T>(args); });
  }

 private:
  template <class T>
  void run_as(const Args& args) const {
    float* dw = args.out[0].as<float>();
#pragma omp parallel for collapse(2)
    for (std::int64_t out = 0; out < s_.filters / kLanes; ++out)
      for (std::int64_t in = 0; in < l_.in_blocks; ++in) {
        const std::int64_t pair = tap_weights(s_, l_, out, in, 0, 0);
        std::fill_n(dw + pair, tap_weights(s_, l_, out, in, s_.window.h.kernel, 0) - pair, 0.0f);
        for (std::int64_t n = 0; n < s_.images; ++n) {
          const T* x = args.in[0].image<T>(n) + (l_.first_input(out) + in) * l_.block_step;
          const T* dy = plane<T>(args.in[1], n, out);
          for (std::int64_t kh = 0; kh < s_.window.h.kernel; ++kh)
            for (std::int64_t kw = 0; kw < s_.window.w.kernel; ++kw) {
              float* to = dw + tap_weights(s_, l_, out, in, kh, kw);
              switch (l_.lanes) {
                case 1: add_plane<1>(x, dy, kh, kw, to); break;
                case 2: add_plane<2>(x, dy, kh, kw, to); break;
                case 3: add_plane<3>(x, dy, kh, kw, to); break;
                case 4: add_plane<4>(x, dy, kh, kw, to); break;
                default: add_plane<kLanes>(x, dy, kh, kw, to); break;
              }
            }
        }
      }
  }

  // Adds the products of one plane at one tap to kChannels x kLanes weights.
  template <int kChannels, class T>
  void add_plane(const T* x, const T* dy, std::int64_t kh, std::int64_t kw, float* dw) const {
    const Slide &h = s_.window.h, &w = s_.window.w;
    const std::int64_t step = w.stride * l_.cell_step, channel = l_.channel_step;
    const Range rows = h.outputs(kh), columns = w.outputs(kw);
    Vec sum[kChannels];
    for (int c = 0; c < kChannels; ++c) sum[c] = zero();
    for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
      const T* from = x + (h.at(oh, kh) * w.in + w.at(columns.first, kw)) * l_.cell_step;
      const T* grads = dy + oh * w.out * kLanes;
      for (std::int64_t ow = columns.first; ow < columns.last; ++ow, from += step) {
        const Vec grad = load_cell(grads, ow);
#pragma GCC unroll 16
        for (int c = 0; c < kChannels; ++c) sum[c] = fma(splat(from + c * channel), grad, sum[c]);
      }
    }
    for (int c = 0; c < kChannels; ++c) store_cell(dw, c, add(load_cell(dw, c), sum[c]));
  }

  ConvolutionShape s_;
  Layouts l_;
};

template <class PassJob>
std::unique_ptr<Job> make_job(const std::optional<ConvolutionShape>& shape) {
  return shape ? std::make_unique<PassJob>(*shape) : nullptr;
}

}  // namespace

std::unique_ptr<Job> prepare_direct_forward(const Call& call) {
  return make_job<ForwardJob>(read_forward(call));
}
std::unique_ptr<Job> prepare_direct_grad_input(const Call& call) {
  return make_job<GradInputJob>(read_grad_input(call));
}
std::unique_ptr<Job> prepare_direct_grad_kernel(const Call& call) {
  return make_job<GradKernelJob>(read_grad_kernel(call));
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
