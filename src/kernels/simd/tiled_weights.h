// The gradient of weights by tiles.
#pragma once

#include "kernels/simd/tiled_images.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Sums of all runs over tiles together, where there are several.
inline constexpr std::int64_t kRunBytes = std::int64_t{2} << 20;
inline constexpr std::int64_t kMostRuns = 8;

// Tiles are summed in a few runs, each in order, and the runs' sums are added up in order: how many
// there are follows from the shape alone, so bits do not depend on the number of threads. Threads
// take pieces of work that they do alone (see tiled_images.h): a run and a part of the filters.
template <class A>
class TiledWeightsJob final : public Job {
 public:
  TiledWeightsJob(const ConvolutionShape& shape, int threads)
      : s_(kPoint ? in_one_row(shape) : shape),
        threads_(threads),
        x_{s_.channels / kLanes, s_.window.h.in, s_.window.w.in},
        y_{s_.filters / kLanes, s_.window.h.out, s_.window.w.out},
        channels_(ceil_div(x_.blocks, A::kBlocks)),
        filters_(ceil_div(y_.blocks, A::kBlocks)) {
    grid_ = {ceil_div(s_.window.h.out, A::kHigh), ceil_div(s_.window.w.out, A::kWide)};
    tiles_ = s_.images * grid_.rows * grid_.columns;
    group_ = filters_together(filters_, A::kPoints, channels_ * kLanes, 1);
    together_ = tiles_together(tiles_, A::kPoints, kLanes * (channels_ + group_), kLanes);
    sums_ = point_stride(channels_ * kLanes * group_ * kLanes);
    while (runs_ < kMostRuns && 2 * runs_ * 4 * A::kPoints * sums_ <= kRunBytes &&
           4 * runs_ * together_ <= tiles_)
      runs_ *= 2;
    parts_ = even_parts(runs_, threads_, group_);
    inputs_ = point_stride(channels_ * together_ * kLanes);
    gradients_ = point_stride(ceil_div(group_, parts_) * together_ * kLanes);
  }

  std::int64_t scratch() const override {
    return 4 * A::kPoints * (runs_ * sums_ + threads_ * (inputs_ + gradients_));
  }

  double arithmetic() const override {
    return tiled_arithmetic<A>(tiles_, s_.images * y_.height * y_.width);
  }

  void run(const Args& args) noexcept override {
    auto* sums = reinterpret_cast<float*>(args.scratch);
#pragma omp parallel
    {
      float* inputs =
          sums + A::kPoints * (runs_ * sums_ + omp_get_thread_num() * (inputs_ + gradients_));
      float* gradients = inputs + A::kPoints * inputs_;
      for (std::int64_t to = 0; to < filters_; to += group_) {
        const Range group{to, std::min(to + group_, filters_)};
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t run = 0; run < runs_; ++run)
          for (std::int64_t part = 0; part < parts_; ++part) {
            const Range filters = part_of(group, part, parts_);
            const Range tiles = part_of({0, tiles_}, run, runs_);
            float* own = sums + run * A::kPoints * sums_ +
                         (filters.first - to) * channels_ * kLanes * kLanes;
            for (std::int64_t first = tiles.first; first < tiles.last; first += together_)
              add_tiles(args, {first, std::min(first + together_, tiles.last)}, filters,
                        first == tiles.first, inputs, gradients, own);
          }
#pragma omp for collapse(2)
        for (std::int64_t filter = to; filter < group.last; ++filter)
          for (std::int64_t channel = 0; channel < channels_; ++channel)
            gather(filter, to, channel, sums, args.out[0]);
      }
    }
  }

 private:
  static constexpr int kRows = kProductRows;   // channels of one product
  static constexpr std::int64_t kDepth = 128;  // tiles: three blocks of them fill half of an L1
  static constexpr int kTaps = A::kTapsHigh * A::kTapsWide;
  static constexpr bool kPoint = kTaps == 1;
  static constexpr bool kTaken = A::kPoints == 1;  // cells as they are

  // Onto the sums of these filters, or into them.
  void add_tiles(const Args& args, Range tiles, Range filters, bool is_first, float* inputs,
                 float* gradients, float* sums) const {
    for (std::int64_t channel = 0; channel < channels_; ++channel)
      if constexpr (kTaken)
        take_cells(args.in[0], channel, tiles, inputs + channel * together_ * kLanes);
      else
        transform_inputs(args.in[0], channel, tiles, inputs);
    for (std::int64_t filter = filters.first; filter < filters.last; ++filter)
      if constexpr (kTaken)
        take_cells(args.in[1], filter, tiles,
                   gradients + (filter - filters.first) * together_ * kLanes);
      else
        transform_gradients(args.in[1], filter, filter - filters.first, tiles, gradients);
    for (std::int64_t point = 0; point < A::kPoints; ++point)
      multiply(point, filters.last - filters.first, tiles.last - tiles.first, is_first, inputs,
               gradients, sums);
  }

  void take_cells(const TensorView& images, std::int64_t block, Range tiles, float* to) const {
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t left = tiles.last - tiles.first; left > 0;) {
      const std::int64_t count = std::min(left, grid_.columns - place.column);
      const std::int64_t first = place.column * A::kWide;
      with_element(images, [&]<class T>() {
        if constexpr (std::is_same_v<A, CellsOf<T>>)
          A::take(plane<T>(images, place.image, block) + first * kLanes,
                  std::min(count * A::kWide, s_.window.w.in - first), to);
      });
      to += count * kLanes;
      left -= count;
      place = {place.image + 1, 0, 0};
    }
  }

  void transform_inputs(const TensorView& x, std::int64_t unit, Range tiles, float* to) const {
    const Slide &h = s_.window.h, &w = s_.window.w;
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < tiles.last - tiles.first; ++t, grid_.advance(place)) {
      Vec cells[A::kBlocks * A::kReadsHigh * A::kReadsWide], v[A::kPoints];
      x_.template load<A::kBlocks, A::kReadsHigh, A::kReadsWide>(
          x, place.image, unit * A::kBlocks, place.row * A::kHigh - h.before,
          place.column * A::kWide - w.before, cells);
      A::transform_input(cells, v);
      float* cell = to + (unit * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * inputs_, v[p]);
    }
  }

  // Of the filters of `unit`, to where the `index`-th are.
  void transform_gradients(const TensorView& dy, std::int64_t unit, std::int64_t index, Range tiles,
                           float* to) const {
    TileGrid::Place place = grid_.at(tiles.first);
    for (std::int64_t t = 0; t < tiles.last - tiles.first; ++t, grid_.advance(place)) {
      Vec cells[A::kBlocks * A::kHigh * A::kWide], v[A::kPoints];
      y_.template load<A::kBlocks, A::kHigh, A::kWide>(
          dy, place.image, unit * A::kBlocks, place.row * A::kHigh, place.column * A::kWide, cells);
      A::transform_gradient(cells, v);
      float* cell = to + (index * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * gradients_, v[p]);
    }
  }

  void multiply(std::int64_t point, std::int64_t filters, std::int64_t count, bool is_first,
                const float* inputs, const float* gradients, float* sums) const {
    const std::int64_t depth = ceil_div(count, ceil_div(count, kDepth));
    const std::int64_t channels = channels_ * kLanes;
    for (std::int64_t begin = 0; begin < count; begin += depth)
      for (std::int64_t filter = 0; filter < filters;) {
        const std::int64_t vecs = strip_of(filter, filters).vecs;
        const auto product = vecs == 3   ? multiply_channels<kRows, 3, A::kPaired>
                             : vecs == 2 ? multiply_channels<kRows, 2, A::kPaired>
                                         : multiply_channels<kRows, 1, A::kPaired>;
        const float* a = inputs + point * inputs_ + begin * kLanes;
        const float* b = gradients + point * gradients_ + (filter * together_ + begin) * kLanes;
        float* to = sums + point * sums_ + filter * channels * kLanes;
        for (std::int64_t c = 0; c < channels; c += kRows)
          product(a + c / kLanes * together_ * kLanes + c % kLanes, b, together_ * kLanes,
                  std::min(depth, count - begin), is_first && begin == 0, to + c * kLanes,
                  channels * kLanes);
        filter += vecs;
      }
  }

  void gather(std::int64_t filter, std::int64_t group, std::int64_t channel, const float* sums,
              const TensorView& dw) const {
    for (int c = 0; c < kLanes; ++c) {
      Vec products[A::kPoints], taps[A::kBlocks * A::kBlocks * kTaps];
      const float* cell = sums + (((filter - group) * channels_ + channel) * kLanes + c) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) {
        products[p] = load(cell + p * sums_);
        for (std::int64_t run = 1; run < runs_; ++run)
          products[p] = add(products[p], load(cell + (run * A::kPoints + p) * sums_));
      }
      A::gather_weights(products, taps);
      for (int k = 0; k < A::kBlocks; ++k)
        for (int j = 0; j < A::kBlocks; ++j)
          store_taps(taps + (k * A::kBlocks + j) * kTaps, filter * A::kBlocks + j,
                     channel * A::kBlocks + k, c, dw);
    }
  }

  // The gradients between channel `c` of one block of channels and a block of filters, if both are
  // there. What only pads a block stays zero (see TiledImagesJob::finish).
  void store_taps(Vec* taps, std::int64_t out, std::int64_t in, int c, const TensorView& dw) const {
    if (A::kBlocks > 1 && (out >= y_.blocks || in >= x_.blocks)) return;
    float* to = dw.template as<float>() + ((out * x_.blocks + in) * kTaps * kLanes + c) * kLanes;
    const Vec mask =
        in * kLanes + c < dw.spec.shape[1] ? channel_mask(dw.spec.shape[0], out) : zero();
    for (int tap = 0; tap < kTaps; ++tap)
      store(to + tap * kLanes * kLanes, A::kBlocks > 1 ? both(taps[tap], mask) : taps[tap]);
  }

  ConvolutionShape s_;
  int threads_;
  TiledPlanes x_, y_;
  std::int64_t channels_, filters_;  // units: blocks that an algorithm takes together
  TileGrid grid_{};
  std::int64_t tiles_ = 0, together_ = 0;
  std::int64_t group_ = 0;  // units of filters whose sums are there together
  std::int64_t runs_ = 1, parts_ = 1;
  std::int64_t inputs_ = 0, gradients_ = 0, sums_ = 0;  // elements of one point
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
