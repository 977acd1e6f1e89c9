// Images from images by tiles: the forward pass, and the gradient of the input, which is a forward
// pass from the output's gradient with the taps turned.
#pragma once

#include <algorithm>

#include "kernels/convolution_shape.h"
#include "kernels/simd/tile_algorithm.h"
#include "kernels/simd/tile_products.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Matrices of one block of tiles should stay in the caches that cores share.
inline constexpr std::int64_t kTileBytes = std::int64_t{2} << 20;
// Fewer would read the weights too often, more gain nothing.
inline constexpr std::int64_t kLeastTilesTogether = 96;
inline constexpr std::int64_t kMostTilesTogether = 192;
// Transformed weights, or their sums, are held for so many filters at a time.
inline constexpr std::int64_t kWeightBytes = std::int64_t{16} << 20;
// Tiles that a thread transforms in one go.
inline constexpr std::int64_t kTilesInTurn = 24;

// Tiles that are worked on together: for each, `points` numbers of `channels` channels.
inline std::int64_t tiles_together(std::int64_t tiles, std::int64_t points, std::int64_t channels,
                                   std::int64_t unit) {
  const std::int64_t fit = kTileBytes / (4 * points * channels);
  const std::int64_t wanted =
      std::clamp(fit / unit * unit, kLeastTilesTogether, kMostTilesTogether);
  return std::min(wanted, round_up(tiles, unit));
}

// Elements from the matrix of one point to that of the next: off by a line, so that a tile's points
// do not fall into the same few places of a cache.
inline std::int64_t point_stride(std::int64_t elements) { return elements + 16; }

// Blocks of filters that are worked on together, a multiple of `unit`.
inline std::int64_t filters_together(std::int64_t filters, std::int64_t points,
                                     std::int64_t channels, std::int64_t unit) {
  const std::int64_t fit =
      std::max<std::int64_t>(kWeightBytes / (4 * kLanes * points * channels), unit);
  const std::int64_t groups = ceil_div(filters, fit);
  return std::min(round_up(ceil_div(filters, groups), unit), round_up(filters, unit));
}

// What Job::arithmetic() says of tiles: products, and a fifth for the transforms around them.
inline double tiled_arithmetic(std::int64_t products, std::int64_t direct) {
  return 0.2 + static_cast<double>(products) / static_cast<double>(direct);
}

struct ImagesShape {
  std::int64_t images;
  std::int64_t from, to;  // blocks of channels
  std::int64_t from_h, from_w, to_h, to_w;
  std::int64_t top, left;  // padding before
  std::int64_t bias = 0;   // its length; 0: none
};

template <class A, bool kTurned>
class TiledImagesJob final : public Job {
 public:
  explicit TiledImagesJob(const ConvolutionShape& c) {
    const Slide &h = c.window.h, &w = c.window.w;
    if constexpr (kTurned)
      s_ = {c.images, c.filters / kLanes,      c.channels / kLanes,    h.out, w.out, h.in,
            w.in,     h.kernel - 1 - h.before, w.kernel - 1 - w.before};
    else
      s_ = {c.images,
            c.channels / kLanes,
            c.filters / kLanes,
            h.in,
            w.in,
            h.out,
            w.out,
            h.before,
            w.before,
            c.bias};
    grid_ = {ceil_div(s_.to_h, A::kHigh), ceil_div(s_.to_w, A::kWide)};
    tiles_ = s_.images * grid_.rows * grid_.columns;
    group_ = filters_together(s_.to, A::kPoints, s_.from * kLanes, 2);
    together_ = tiles_together(tiles_, A::kPoints, kLanes * (s_.from + group_), kRows);
    inputs_ = point_stride(s_.from * together_ * kLanes);
    products_ = point_stride(group_ * together_ * kLanes);
    weights_ = point_stride(s_.from * group_ * kLanes * kLanes);
  }

  std::int64_t scratch() const override {
    return 4 * A::kPoints * (inputs_ + products_ + weights_);
  }

  double arithmetic() const override {
    return tiled_arithmetic(tiles_ * A::kPoints, s_.images * s_.to_h * s_.to_w * kTaps);
  }

  void run(const Args& args) noexcept override {
    auto* weights = reinterpret_cast<float*>(args.scratch);
    float* inputs = weights + A::kPoints * weights_;
    float* products = inputs + A::kPoints * inputs_;
#pragma omp parallel
    for (std::int64_t first = 0; first < tiles_; first += together_) {
      const std::int64_t count = std::min(together_, tiles_ - first);
      const std::int64_t turns = ceil_div(count, kTilesInTurn);
#pragma omp for collapse(2) schedule(dynamic)
      for (std::int64_t block = 0; block < s_.from; ++block)
        for (std::int64_t turn = 0; turn < turns; ++turn)
          transform_inputs(args.in[0], block, first, turn * kTilesInTurn, count, inputs);
      for (std::int64_t to = 0; to < s_.to; to += group_) {
        const Range filters{to, std::min(to + group_, s_.to)};
        if (first == 0 || group_ < s_.to) {
#pragma omp for collapse(2)
          for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
            for (std::int64_t from = 0; from < s_.from; ++from)
              transform_weights(args.in[1].template as<float>(), from, filter, filters, weights);
        }
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t point = 0; point < A::kPoints; ++point)
          for (std::int64_t part = 0; part < kParts; ++part)
            multiply(point, part, count, filters, weights, inputs, products);
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t block = filters.first; block < filters.last; ++block)
          for (std::int64_t turn = 0; turn < turns; ++turn)
            transform_outputs(args, block, filters, first, turn * kTilesInTurn, count, products);
      }
    }
  }

 private:
  static constexpr int kRows = kSumRows;     // tiles of one product
  static constexpr std::int64_t kParts = 2;  // of the channels of one point's product
  static constexpr int kTaps = A::kTapsHigh * A::kTapsWide;

  // Blocks of results are taken in pairs, the last perhaps alone; a pair's weights are
  // [from][two blocks].
  void transform_weights(const float* from, std::int64_t in, std::int64_t out, Range filters,
                         float* to) const {
    const std::int64_t pair = (out - filters.first) / 2;
    const std::int64_t vecs = std::min<std::int64_t>(2, filters.last - filters.first - 2 * pair);
    float taps[kTaps][kLanes][kLanes];
    for (int tap = 0; tap < kTaps; ++tap)
      if constexpr (kTurned)
        transpose_block(from + ((in * s_.to + out) * kTaps + kTaps - 1 - tap) * kLanes * kLanes,
                        kLanes, taps[tap][0], kLanes);
      else
        std::copy_n(from + ((out * s_.from + in) * kTaps + tap) * kLanes * kLanes, kLanes * kLanes,
                    taps[tap][0]);
    for (int c = 0; c < kLanes; ++c) {
      Vec g[kTaps], u[A::kPoints];
      for (int tap = 0; tap < kTaps; ++tap) g[tap] = load(taps[tap][c]);
      A::transform_weights(g, u);
      float* cell =
          to + pair * s_.from * 2 * kLanes * kLanes + ((in * kLanes + c) * vecs + out % 2) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * weights_, u[p]);
    }
  }

  void transform_inputs(const TensorView& x, std::int64_t block, std::int64_t first,
                        std::int64_t begin, std::int64_t count, float* to) const {
    const std::int64_t end = std::min(begin + kTilesInTurn, count);
    TileGrid::Place place = grid_.at(first + begin);
    for (std::int64_t t = begin; t < end; ++t, grid_.advance(place)) {
      Vec cells[A::kPoints], v[A::kPoints];
      load_tile<A::kReadsHigh, A::kReadsWide>(x, place.image, block, place.row * A::kHigh - s_.top,
                                              place.column * A::kWide - s_.left, cells);
      A::transform_input(cells, v);
      float* cell = to + (block * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * inputs_, v[p]);
    }
    if (end < count) return;
    for (std::int64_t t = end; t < round_up(end, kRows); ++t)
      for (int p = 0; p < A::kPoints; ++p)
        store(to + p * inputs_ + (block * together_ + t) * kLanes, zero());
  }

  void multiply(std::int64_t point, std::int64_t part, std::int64_t count, Range filters,
                const float* weights, const float* inputs, float* products) const {
    const std::int64_t blocks = filters.last - filters.first, pairs = ceil_div(blocks, 2);
    const std::int64_t block = together_ * kLanes;
    for (std::int64_t pair = pairs * part / kParts; pair < pairs * (part + 1) / kParts; ++pair)
      for (std::int64_t t = 0; t < count; t += kRows) {
        const float* a = inputs + point * inputs_ + t * kLanes;
        const float* w = weights + point * weights_ + pair * s_.from * 2 * kLanes * kLanes;
        float* to = products + point * products_ + (2 * pair * together_ + t) * kLanes;
        if (2 * pair + 1 < blocks)
          multiply_tiles<kRows, 2>(a, block, s_.from, w, to, block);
        else
          multiply_tiles<kRows, 1>(a, block, s_.from, w, to, block);
      }
  }

  void transform_outputs(const Args& args, std::int64_t block, Range filters, std::int64_t first,
                         std::int64_t begin, std::int64_t count, const float* products) const {
    const std::int64_t end = std::min(begin + kTilesInTurn, count);
    const Vec bias = s_.bias == 0 ? zero()
                                  : load_part(args.in[2].template as<float>() + block * kLanes,
                                              s_.bias - block * kLanes);
    TileGrid::Place place = grid_.at(first + begin);
    for (std::int64_t t = begin; t < end; ++t, grid_.advance(place)) {
      Vec m[A::kPoints], y[A::kHigh * A::kWide];
      const float* cell = products + ((block - filters.first) * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) m[p] = load(cell + p * products_);
      A::transform_output(m, y);
      if (s_.bias > 0)
        for (Vec& result : y) result = add(result, bias);
      store_tile<A::kHigh, A::kWide>(y, args.out[0], place.image, block, place.row * A::kHigh,
                                     place.column * A::kWide);
    }
  }

  ImagesShape s_{};
  TileGrid grid_{};
  std::int64_t tiles_ = 0, together_ = 0;
  std::int64_t group_ = 0;  // blocks of filters that are worked on together
  std::int64_t inputs_ = 0, products_ = 0, weights_ = 0;  // elements of one point
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
