// Images from images by tiles: the forward pass, and the gradient of the input, which is a forward
// pass from the output's gradient with the taps turned.
#pragma once

#include <omp.h>

#include <algorithm>

#include "kernels/convolution_shape.h"
#include "kernels/simd/tile_algorithm.h"
#include "kernels/simd/tile_products.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Matrices of one block of tiles, which a thread works on alone, should stay in its own caches.
inline constexpr std::int64_t kTileBytes = std::int64_t{768} << 10;
// Fewer would read the weights too often, more gain nothing.
inline constexpr std::int64_t kLeastTilesTogether = 96;
inline constexpr std::int64_t kMostTilesTogether = 192;
// Transformed weights, or their sums, are held for so many filters at a time.
inline constexpr std::int64_t kWeightBytes = std::int64_t{16} << 20;

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

// In how many parts, at most `most`, each of `pieces` pieces of work is split so that a team of
// threads shares them evenly.
inline std::int64_t even_parts(std::int64_t pieces, int threads, std::int64_t most) {
  for (std::int64_t parts = 1; parts < most; ++parts)
    if (pieces * parts % threads == 0 || pieces * parts >= 6 * threads) return parts;
  return most;
}

// Part `part` of `parts` of a range.
inline Range part_of(Range all, std::int64_t part, std::int64_t parts) {
  const std::int64_t count = all.last - all.first;
  return {all.first + count * part / parts, all.first + count * (part + 1) / parts};
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

// Threads take pieces of work that they do alone, from the cells of a block of tiles to results:
// what one core has transformed stays in its caches. Cores that share none pay dearly for it
// otherwise. A piece is a block of tiles and a part of the filters.
template <class A, bool kTurned>
class TiledImagesJob final : public Job {
 public:
  TiledImagesJob(const ConvolutionShape& c, int threads) : threads_(threads) {
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
    split();
    inputs_ = point_stride(s_.from * together_ * kLanes);
    products_ = point_stride(2 * ceil_div(ceil_div(group_, 2), parts_) * together_ * kLanes);
    weights_ = point_stride(s_.from * group_ * kLanes * kLanes);
  }

  std::int64_t scratch() const override {
    return 4 * A::kPoints * (weights_ + threads_ * (inputs_ + products_));
  }

  double arithmetic() const override {
    return tiled_arithmetic(tiles_ * A::kPoints, s_.images * s_.to_h * s_.to_w * kTaps);
  }

  void run(const Args& args) noexcept override {
    auto* weights = reinterpret_cast<float*>(args.scratch);
#pragma omp parallel
    {
      float* inputs =
          weights + A::kPoints * (weights_ + omp_get_thread_num() * (inputs_ + products_));
      float* products = inputs + A::kPoints * inputs_;
      for (std::int64_t to = 0; to < s_.to; to += group_) {
        const Range filters{to, std::min(to + group_, s_.to)};
        if (blocks_ > 1) {
#pragma omp for
          for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
            transform_weights(args.in[1].template as<float>(), filter, filters, weights);
        }
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t part = 0; part < parts_; ++part)
          for (std::int64_t block = 0; block < blocks_; ++block) {
            const Range pairs =
                part_of({0, ceil_div(filters.last - filters.first, 2)}, part, parts_);
            const Range own{filters.first + 2 * pairs.first,
                            std::min(filters.first + 2 * pairs.last, filters.last)};
            // Weights that are used once are nobody else's business.
            for (std::int64_t filter = own.first; blocks_ == 1 && filter < own.last; ++filter)
              transform_weights(args.in[1].template as<float>(), filter, filters, weights);
            const Range tiles{block * together_, std::min((block + 1) * together_, tiles_)};
            for (std::int64_t from = 0; from < s_.from; ++from)
              transform_inputs(args.in[0], from, tiles, inputs);
            for (std::int64_t point = 0; point < A::kPoints; ++point)
              multiply(point, tiles.last - tiles.first, filters, pairs, weights, inputs, products);
            for (std::int64_t filter = own.first; filter < own.last; ++filter)
              transform_outputs(args, filter, filter - own.first, tiles, products);
          }
      }
    }
  }

 private:
  static constexpr int kRows = kSumRows;  // tiles of one product
  static constexpr int kTaps = A::kTapsHigh * A::kTapsWide;

  // Into pieces that the threads share evenly: many tiles by tiles; where weights are more than
  // what they are multiplied with, by filters, each of which one thread reads. What is stored does
  // not depend on it.
  void split() {
    const std::int64_t most =
        tiles_together(tiles_, A::kPoints, kLanes * (s_.from + group_), kRows);
    blocks_ = ceil_div(tiles_, most);
    if (tiles_ * (s_.from + s_.to) > s_.from * s_.to * kLanes)
      blocks_ *= even_parts(blocks_, threads_, ceil_div(tiles_, 2 * kRows * blocks_));
    together_ = round_up(ceil_div(tiles_, blocks_), kRows);
    blocks_ = ceil_div(tiles_, together_);
    parts_ = even_parts(blocks_, threads_, ceil_div(group_, 2));
  }

  // Blocks of results are taken in pairs, the last perhaps alone; a pair's weights are
  // [from][two blocks].
  void transform_weights(const float* from, std::int64_t out, Range filters, float* to) const {
    const std::int64_t pair = (out - filters.first) / 2;
    const std::int64_t vecs = std::min<std::int64_t>(2, filters.last - filters.first - 2 * pair);
    for (std::int64_t in = 0; in < s_.from; ++in) {
      float taps[kTaps][kLanes][kLanes];
      for (int tap = 0; tap < kTaps; ++tap)
        if constexpr (kTurned)
          transpose_block(from + ((in * s_.to + out) * kTaps + kTaps - 1 - tap) * kLanes * kLanes,
                          kLanes, taps[tap][0], kLanes);
        else
          std::copy_n(from + ((out * s_.from + in) * kTaps + tap) * kLanes * kLanes,
                      kLanes * kLanes, taps[tap][0]);
      for (int c = 0; c < kLanes; ++c) {
        Vec g[kTaps], u[A::kPoints];
        for (int tap = 0; tap < kTaps; ++tap) g[tap] = load(taps[tap][c]);
        A::transform_weights(g, u);
        float* cell = to + pair * s_.from * 2 * kLanes * kLanes +
                      ((in * kLanes + c) * vecs + (out - filters.first) % 2) * kLanes;
        for (int p = 0; p < A::kPoints; ++p) store(cell + p * weights_, u[p]);
      }
    }
  }

  void transform_inputs(const TensorView& x, std::int64_t block, Range tiles, float* to) const {
    const std::int64_t count = tiles.last - tiles.first;
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < count; ++t, grid_.advance(place)) {
      Vec cells[A::kPoints], v[A::kPoints];
      load_tile<A::kReadsHigh, A::kReadsWide>(x, place.image, block, place.row * A::kHigh - s_.top,
                                              place.column * A::kWide - s_.left, cells);
      A::transform_input(cells, v);
      float* cell = to + (block * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * inputs_, v[p]);
    }
    for (std::int64_t t = count; t < round_up(count, kRows); ++t)
      for (int p = 0; p < A::kPoints; ++p)
        store(to + p * inputs_ + (block * together_ + t) * kLanes, zero());
  }

  // The products of one point with pairs of the filters, stored from the first of those on.
  void multiply(std::int64_t point, std::int64_t count, Range filters, Range pairs,
                const float* weights, const float* inputs, float* products) const {
    const std::int64_t block = together_ * kLanes;
    for (std::int64_t pair = pairs.first; pair < pairs.last; ++pair)
      for (std::int64_t t = 0; t < count; t += kRows) {
        const float* a = inputs + point * inputs_ + t * kLanes;
        const float* w = weights + point * weights_ + pair * s_.from * 2 * kLanes * kLanes;
        float* to =
            products + point * products_ + (2 * (pair - pairs.first) * together_ + t) * kLanes;
        if (filters.first + 2 * pair + 1 < filters.last)
          multiply_tiles<kRows, 2>(a, block, s_.from, w, to, block);
        else
          multiply_tiles<kRows, 1>(a, block, s_.from, w, to, block);
      }
  }

  // Of the filters of `block`, the `index`-th that `products` has.
  void transform_outputs(const Args& args, std::int64_t block, std::int64_t index, Range tiles,
                         const float* products) const {
    const Vec bias = s_.bias == 0 ? zero()
                                  : load_part(args.in[2].template as<float>() + block * kLanes,
                                              s_.bias - block * kLanes);
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < tiles.last - tiles.first; ++t, grid_.advance(place)) {
      Vec m[A::kPoints], y[A::kHigh * A::kWide];
      const float* cell = products + (index * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) m[p] = load(cell + p * products_);
      A::transform_output(m, y);
      if (s_.bias > 0)
        for (Vec& result : y) result = add(result, bias);
      store_tile<A::kHigh, A::kWide>(y, args.out[0], place.image, block, place.row * A::kHigh,
                                     place.column * A::kWide);
    }
  }

  ImagesShape s_{};
  int threads_;
  TileGrid grid_{};
  std::int64_t tiles_ = 0;
  std::int64_t group_ = 0;  // blocks of filters whose weights are there together
  // Pieces of work: blocks of so many tiles, parts of the filters of a group.
  std::int64_t together_ = 0, blocks_ = 0, parts_ = 0;
  std::int64_t inputs_ = 0, products_ = 0, weights_ = 0;  // elements of one point
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
