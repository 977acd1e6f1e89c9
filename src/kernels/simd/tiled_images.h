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

// What Job::arithmetic() says of so many tiles for so many cells of results: products, and the
// transforms around them.
template <class A>
double tiled_arithmetic(std::int64_t tiles, std::int64_t cells) {
  return A::kTransforms +
         static_cast<double>(tiles * A::kPoints) /
             static_cast<double>(cells * A::kTapsHigh * A::kTapsWide * A::kBlocks * A::kBlocks);
}

struct ImagesShape {
  std::int64_t images;
  TiledPlanes from, to;
  std::int64_t top, left;  // padding before
  std::int64_t bias = 0;   // its length; 0: none
};

// Threads take pieces of work that they do alone, from the cells of a block of tiles to results:
// what one core has transformed stays in its caches. Cores that share none pay dearly for it
// otherwise. A piece is a block of tiles and a part of the filters.
template <class A, bool kTurned>
class TiledImagesJob final : public Job {
 public:
  TiledImagesJob(const ConvolutionShape& shape, int threads) : threads_(threads) {
    const ConvolutionShape c = kTaps == 1 ? in_one_row(shape) : shape;
    const Slide &h = c.window.h, &w = c.window.w;
    const TiledPlanes x{c.channels / kLanes, h.in, w.in}, y{c.filters / kLanes, h.out, w.out};
    if constexpr (kTurned)
      s_ = {c.images, y, x, h.kernel - 1 - h.before, w.kernel - 1 - w.before};
    else
      s_ = {c.images, x, y, h.before, w.before, c.bias};
    from_ = ceil_div(s_.from.blocks, A::kBlocks);
    to_ = ceil_div(s_.to.blocks, A::kBlocks);
    grid_ = {ceil_div(s_.to.height, A::kHigh), ceil_div(s_.to.width, A::kWide)};
    tiles_ = s_.images * grid_.rows * grid_.columns;
    group_ = filters_together(to_, A::kPoints, from_ * kLanes, 3);
    split();
    inputs_ = point_stride(from_ * together_ * kLanes);
    products_ = point_stride(3 * ceil_div(strips_of(group_), parts_) * together_ * kLanes);
    weights_ = point_stride(from_ * group_ * kLanes * kLanes);
  }

  std::int64_t scratch() const override {
    return 4 * A::kPoints * (weights_ + threads_ * (inputs_ + products_));
  }

  double arithmetic() const override {
    return tiled_arithmetic<A>(tiles_, s_.images * s_.to.height * s_.to.width);
  }

  void run(const Args& args) noexcept override {
    auto* weights = reinterpret_cast<float*>(args.scratch);
#pragma omp parallel
    {
      float* inputs =
          weights + A::kPoints * (weights_ + omp_get_thread_num() * (inputs_ + products_));
      float* products = inputs + A::kPoints * inputs_;
      for (std::int64_t to = 0; to < to_; to += group_) {
        const Range filters{to, std::min(to + group_, to_)};
        if (blocks_ > 1) {
#pragma omp for
          for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
            transform_weights(args.in[1].template as<float>(), filter, filters, weights);
        }
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t part = 0; part < parts_; ++part)
          for (std::int64_t block = 0; block < blocks_; ++block) {
            const Range own = filters_of(part, filters);
            // Weights that are used once are nobody else's business.
            for (std::int64_t filter = own.first; blocks_ == 1 && filter < own.last; ++filter)
              transform_weights(args.in[1].template as<float>(), filter, filters, weights);
            const Range tiles{block * together_, std::min((block + 1) * together_, tiles_)};
            for (std::int64_t from = 0; from < from_; ++from)
              transform_inputs(args.in[0], from, tiles, inputs);
            for (std::int64_t point = 0; point < A::kPoints; ++point)
              multiply(point, tiles.last - tiles.first, filters, own, weights, inputs, products);
            for (std::int64_t filter = own.first; filter < own.last; ++filter)
              transform_outputs(args, filter, filter - own.first, tiles, products);
          }
      }
    }
  }

 private:
  static constexpr int kRows = kProductRows;  // tiles of one product
  static constexpr int kTaps = A::kTapsHigh * A::kTapsWide;

  // Into pieces that the threads share evenly: many tiles by tiles; where weights are more than
  // what they are multiplied with, by filters, each of which one thread reads. What is stored does
  // not depend on it.
  void split() {
    const std::int64_t most = tiles_together(tiles_, A::kPoints, kLanes * (from_ + group_), kRows);
    blocks_ = ceil_div(tiles_, most);
    if (tiles_ * (from_ + to_) > from_ * to_ * kLanes)
      blocks_ *= even_parts(blocks_, threads_, ceil_div(tiles_, 3 * kRows * blocks_));
    together_ = round_up(ceil_div(tiles_, blocks_), kRows);
    blocks_ = ceil_div(tiles_, together_);
    parts_ = even_parts(blocks_, threads_, strips_of(group_));
  }

  // Part `part` of the filters that are there: whole strips of them.
  Range filters_of(std::int64_t part, Range filters) const {
    const std::int64_t count = filters.last - filters.first;
    const Range strips = part_of({0, strips_of(count)}, part, parts_);
    const auto begin = [&](std::int64_t strip) {
      return filters.first + (strip < strips_of(count) ? strip_at(strip, count).first : count);
    };
    return {begin(strips.first), begin(strips.last)};
  }

  // The weights between one block of channels and one of results; zeros if one of them is not
  // there.
  void load_taps(const float* from, std::int64_t in, std::int64_t out,
                 float (*taps)[kLanes][kLanes]) const {
    for (int tap = 0; tap < kTaps; ++tap)
      if (in >= s_.from.blocks || out >= s_.to.blocks)
        std::fill_n(taps[tap][0], kLanes * kLanes, 0.0F);
      else if constexpr (kTurned)
        transpose_block(
            from + ((in * s_.to.blocks + out) * kTaps + kTaps - 1 - tap) * kLanes * kLanes, kLanes,
            taps[tap][0], kLanes);
      else
        std::copy_n(from + ((out * s_.from.blocks + in) * kTaps + tap) * kLanes * kLanes,
                    kLanes * kLanes, taps[tap][0]);
  }

  // The weights of a strip are [from][units of the strip].
  void transform_weights(const float* from, std::int64_t out, Range filters, float* to) const {
    constexpr int kAll = kTaps * A::kBlocks * A::kBlocks;
    const Strip strip = strip_of(out - filters.first, filters.last - filters.first);
    for (std::int64_t in = 0; in < from_; ++in) {
      float taps[kAll][kLanes][kLanes];
      for (int k = 0; k < A::kBlocks; ++k)
        for (int j = 0; j < A::kBlocks; ++j)
          load_taps(from, in * A::kBlocks + k, out * A::kBlocks + j,
                    taps + (k * A::kBlocks + j) * kTaps);
      for (int c = 0; c < kLanes; ++c) {
        Vec g[kAll], u[A::kPoints];
        for (int tap = 0; tap < kAll; ++tap) g[tap] = load(taps[tap][c]);
        A::transform_weights(g, u);
        float* cell = to + (strip.first * from_ * kLanes + (in * kLanes + c) * strip.vecs + out -
                            filters.first - strip.first) *
                               kLanes;
        for (int p = 0; p < A::kPoints; ++p) store(cell + p * weights_, u[p]);
      }
    }
  }

  void transform_inputs(const TensorView& x, std::int64_t unit, Range tiles, float* to) const {
    const std::int64_t count = tiles.last - tiles.first;
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < count; ++t, grid_.advance(place)) {
      Vec cells[A::kBlocks * A::kReadsHigh * A::kReadsWide], v[A::kPoints];
      s_.from.template load<A::kBlocks, A::kReadsHigh, A::kReadsWide>(
          x, place.image, unit * A::kBlocks, place.row * A::kHigh - s_.top,
          place.column * A::kWide - s_.left, cells);
      A::transform_input(cells, v);
      float* cell = to + (unit * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * inputs_, v[p]);
    }
    for (std::int64_t t = count; t < round_up(count, kRows); ++t)
      for (int p = 0; p < A::kPoints; ++p)
        store(to + p * inputs_ + (unit * together_ + t) * kLanes, zero());
  }

  // The products of one point with filters `own`, stored from the first of those on.
  void multiply(std::int64_t point, std::int64_t count, Range filters, Range own,
                const float* weights, const float* inputs, float* products) const {
    const std::int64_t block = together_ * kLanes;
    for (std::int64_t filter = own.first; filter < own.last;) {
      const auto [first, vecs] = strip_of(filter - filters.first, filters.last - filters.first);
      const auto product = vecs == 3   ? multiply_tiles<kRows, 3>
                           : vecs == 2 ? multiply_tiles<kRows, 2>
                                       : multiply_tiles<kRows, 1>;
      for (std::int64_t t = 0; t < count; t += kRows)
        product(inputs + point * inputs_ + t * kLanes, block, from_,
                weights + point * weights_ + first * from_ * kLanes * kLanes,
                products + point * products_ + ((filter - own.first) * together_ + t) * kLanes,
                block);
      filter += vecs;
    }
  }

  // Of the filters of `unit`, the `index`-th that `products` has.
  void transform_outputs(const Args& args, std::int64_t unit, std::int64_t index, Range tiles,
                         const float* products) const {
    constexpr int kCells = A::kHigh * A::kWide;
    const std::int64_t first = unit * A::kBlocks;
    const std::int64_t blocks = std::min<std::int64_t>(A::kBlocks, s_.to.blocks - first);
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < tiles.last - tiles.first; ++t, grid_.advance(place)) {
      Vec m[A::kPoints], y[A::kBlocks * kCells];
      const float* cell = products + (index * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) m[p] = load(cell + p * products_);
      A::transform_output(m, y);
      for (std::int64_t b = 0; b < blocks; ++b) {
        Vec* results = y + b * kCells;
        finish(args, first + b, results);
        s_.to.template store<A::kHigh, A::kWide>(results, args.out[0], place.image, first + b,
                                                 place.row * A::kHigh, place.column * A::kWide);
      }
    }
  }

  // Adds the bias. What only pads a block stays zero: where blocks are mixed, products of another
  // block's filters cancel there only nearly.
  void finish(const Args& args, std::int64_t block, Vec* results) const {
    if (s_.bias > 0) {
      const Vec bias =
          load_part(args.in[2].template as<float>() + block * kLanes, s_.bias - block * kLanes);
      for (int i = 0; i < A::kHigh * A::kWide; ++i) results[i] = add(results[i], bias);
    }
    if (A::kBlocks > 1 && block + 1 == s_.to.blocks) {
      const Vec mask = channel_mask(args.out[0].spec.shape[1], block);
      for (int i = 0; i < A::kHigh * A::kWide; ++i) results[i] = both(results[i], mask);
    }
  }

  ImagesShape s_{};
  std::int64_t from_ = 0, to_ = 0;  // units: blocks that an algorithm takes together
  int threads_;
  TileGrid grid_{};
  std::int64_t tiles_ = 0;
  std::int64_t group_ = 0;  // units of filters whose weights are there together
  // Pieces of work: blocks of so many tiles, parts of the filters of a group.
  std::int64_t together_ = 0, blocks_ = 0, parts_ = 0;
  std::int64_t inputs_ = 0, products_ = 0, weights_ = 0;  // elements of one point
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
