#include "kernels/tiled_convolution.h"

#include "kernels/simd/strassen.h"
#include "kernels/simd/tiled_images.h"
#include "kernels/simd/tiled_weights.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

// The least number of channels and filters for which transforming costs less than it saves.
constexpr std::int64_t kLeastChannels = 16;
// Results for which transforming the weights pays.
constexpr std::int64_t kLeastTiles = 16;
// Weights of one tap for which cells of floats are copied.
constexpr std::int64_t kLeastPointWeights = 128 * 256;
// Cells of all images for which Strassen's algorithm pays, and channels and filters: of images, of
// gradients of weights.
constexpr std::int64_t kLeastStrassenCells = 1536;
constexpr std::int64_t kLeastStrassenChannels = 384;
constexpr std::int64_t kLeastStrassenSummed = 128;

template <class A>
std::int64_t tiles_of(const ConvolutionShape& s, const Slide& h, const Slide& w) {
  return s.images * ceil_div(h.out, A::kHigh) * ceil_div(w.out, A::kWide);
}

// Calls make(algorithm) with the one for this shape; null if there is none. `h` and `w` tell what
// is made by tiles.
template <class Make>
std::unique_ptr<Job> choose(const ConvolutionShape& s, const Slide& h, const Slide& w, Make make) {
  const auto is_plain = [](const Slide& slide) {
    return slide.stride == 1 && slide.dilation == 1 && slide.before < slide.kernel;
  };
  if (s.groups != 1 || s.plain_input || !is_plain(s.window.h) || !is_plain(s.window.w) ||
      std::min(s.channels, s.filters) < kLeastChannels)
    return nullptr;
  const auto if_worth = [&]<class A>(A algorithm) -> std::unique_ptr<Job> {
    const std::int64_t tiles = tiles_of<A>(s, h, w);
    if (tiles < kLeastTiles) return nullptr;
    // Small images fill their tiles badly: at least a third of the products must be saved.
    const std::int64_t direct = s.images * h.out * w.out * A::kTapsHigh * A::kTapsWide;
    return 3 * tiles * A::kPoints <= 2 * direct ? make(algorithm) : nullptr;
  };
  const std::int64_t high = s.window.h.kernel, wide = s.window.w.kernel;
  if (high == 3 && wide == 3) {
    using Large = TileAlgorithm<FourOfThree, FourOfThree>;
    using Small = TileAlgorithm<TwoOfThree, TwoOfThree>;
    if (tiles_of<Large>(s, h, w) * Large::kPoints <= tiles_of<Small>(s, h, w) * Small::kPoints)
      return if_worth(Large{});
    return if_worth(Small{});
  }
  if (high == 5 && wide == 5) return if_worth(TileAlgorithm<FourOfFive, FourOfFive>{});
  if (high == 1 && wide == 7) return if_worth(TileAlgorithm<OneTap, FourOfSeven>{});
  if (high == 7 && wide == 1) return if_worth(TileAlgorithm<FourOfSeven, OneTap>{});
  if (high == 1 && wide == 3) return if_worth(TileAlgorithm<OneTap, FourOfThree>{});
  if (high == 3 && wide == 1) return if_worth(TileAlgorithm<FourOfThree, OneTap>{});
  return nullptr;
}

// Whether it is a product of matrices: cells times channels, channels times filters.
bool is_point(const ConvolutionShape& s) {
  const auto is_single = [](const Slide& slide) {
    return slide.kernel == 1 && slide.stride == 1 && slide.in == slide.out && slide.before == 0;
  };
  return s.groups == 1 && !s.plain_input && is_single(s.window.h) && is_single(s.window.w);
}

// Whether there is enough for Strassen's algorithm to save more than its sums take.
bool suits_strassen(const ConvolutionShape& s, std::int64_t least_channels) {
  return is_point(s) && std::min(s.channels, s.filters) >= least_channels &&
         s.images * s.window.h.in * s.window.w.in >= kLeastStrassenCells;
}

// On AVX2 oneDNN's eight products are as fast as our seven, and so they are where AVX-512 works on
// all lanes at once or multiplies bf16.
bool suits_strassen_images(const ConvolutionShape& s, const Environment& environment) {
  return kLanes != kNarrowLanes && environment.halves_avx512 &&
         !(s.is_short && environment.isa == Isa::avx512_bf16) &&
         suits_strassen(s, kLeastStrassenChannels);
}

// The slide whose results are the input's cells.
Slide turned(const Slide& slide) { return {.in = slide.out, .out = slide.in}; }

}  // namespace

std::unique_ptr<Job> prepare_tiled_forward(const Call& call) {
  const auto s = read_forward(call);
  if (!s) return nullptr;
  return choose(*s, s->window.h, s->window.w, [&]<class A>(A) -> std::unique_ptr<Job> {
    return std::make_unique<TiledImagesJob<A, false>>(*s, call.environment.threads);
  });
}

std::unique_ptr<Job> prepare_tiled_grad_input(const Call& call) {
  const auto s = read_grad_input(call);
  if (!s) return nullptr;
  return choose(*s, turned(s->window.h), turned(s->window.w),
                [&]<class A>(A) -> std::unique_ptr<Job> {
                  return std::make_unique<TiledImagesJob<A, true>>(*s, call.environment.threads);
                });
}

std::unique_ptr<Job> prepare_tiled_grad_kernel(const Call& call) {
  const auto s = read_grad_kernel(call);
  if (!s) return nullptr;
  return choose(*s, s->window.h, s->window.w, [&]<class A>(A) -> std::unique_ptr<Job> {
    return std::make_unique<TiledWeightsJob<A>>(*s, call.environment.threads);
  });
}

std::unique_ptr<Job> prepare_point_grad_kernel(const Call& call) {
  const auto s = read_grad_kernel(call);
  if (!s || !is_point(*s)) return nullptr;
  if (!s->is_short) {
    // Fewer do not pay for copying the cells, nor do halved products.
    if (s->channels * s->filters < kLeastPointWeights) return nullptr;
    if (kLanes != kNarrowLanes && call.environment.halves_avx512) return nullptr;
    return std::make_unique<TiledWeightsJob<CellsOf<float>>>(*s, call.environment.threads);
  }
  if (call.environment.isa != Isa::avx512_bf16) return nullptr;
  return std::make_unique<TiledWeightsJob<CellsOf<Bf16>>>(*s, call.environment.threads);
}

std::unique_ptr<Job> prepare_strassen_forward(const Call& call) {
  const auto s = read_forward(call);
  if (!s || !suits_strassen_images(*s, call.environment)) return nullptr;
  return std::make_unique<TiledImagesJob<Strassen, false>>(*s, call.environment.threads);
}

std::unique_ptr<Job> prepare_strassen_grad_input(const Call& call) {
  const auto s = read_grad_input(call);
  if (!s || !suits_strassen_images(*s, call.environment)) return nullptr;
  return std::make_unique<TiledImagesJob<Strassen, true>>(*s, call.environment.threads);
}

std::unique_ptr<Job> prepare_strassen_grad_kernel(const Call& call) {
  // With AVX-512 oneDNN's are as fast.
  const auto s = read_grad_kernel(call);
  if (!s || kLanes != kNarrowLanes || !suits_strassen(*s, kLeastStrassenSummed)) return nullptr;
  return std::make_unique<TiledWeightsJob<Strassen>>(*s, call.environment.threads);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
