// The gradient of weights by tiles.
#pragma once

#include "kernels/simd/tiled_images.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

// Sums run over tiles in order and are split by points and filters, never by tiles.
template <class A>
class TiledWeightsJob final : public Job {
 public:
  explicit TiledWeightsJob(const ConvolutionShape& shape)
      : s_(shape), channels_(shape.channels / kLanes), filters_(shape.filters / kLanes) {
    grid_ = {ceil_div(s_.window.h.out, A::kHigh), ceil_div(s_.window.w.out, A::kWide)};
    tiles_ = s_.images * grid_.rows * grid_.columns;
    group_ = filters_together(filters_, A::kPoints, s_.channels, 1);
    together_ = tiles_together(tiles_, A::kPoints, s_.channels + kLanes * group_, kLanes);
    inputs_ = point_stride(channels_ * together_ * kLanes);
    gradients_ = point_stride(group_ * together_ * kLanes);
    sums_ = point_stride(s_.channels * group_ * kLanes);
  }

  std::int64_t scratch() const override { return 4 * A::kPoints * (inputs_ + gradients_ + sums_); }

  double arithmetic() const override {
    return tiled_arithmetic(tiles_ * A::kPoints,
                            s_.images * s_.window.h.out * s_.window.w.out * kTaps);
  }

  void run(const Args& args) noexcept override {
    auto* sums = reinterpret_cast<float*>(args.scratch);
    float* inputs = sums + A::kPoints * sums_;
    float* gradients = inputs + A::kPoints * inputs_;
#pragma omp parallel
    for (std::int64_t to = 0; to < filters_; to += group_) {
      const Range filters{to, std::min(to + group_, filters_)};
      for (std::int64_t first = 0; first < tiles_; first += together_) {
        const std::int64_t count = std::min(together_, tiles_ - first);
        const std::int64_t turns = ceil_div(count, kTilesInTurn);
        // What is there from the last group of filters is not made again.
        const std::int64_t made = to > 0 && together_ >= tiles_ ? channels_ : 0;
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t block = made; block < channels_ + filters.last - to; ++block)
          for (std::int64_t turn = 0; turn < turns; ++turn) {
            const std::int64_t begin = turn * kTilesInTurn;
            const Range tiles{begin, std::min(begin + kTilesInTurn, count)};
            if (block < channels_)
              transform_inputs(args.in[0], block, first, tiles, inputs);
            else
              transform_gradients(args.in[1], block - channels_, to, first, tiles, gradients);
          }
#pragma omp for collapse(2) schedule(dynamic)
        for (std::int64_t point = 0; point < A::kPoints; ++point)
          for (std::int64_t part = 0; part < kParts; ++part)
            multiply(point, part, filters.last - to, count, first == 0, inputs, gradients, sums);
      }
#pragma omp for collapse(2)
      for (std::int64_t filter = to; filter < filters.last; ++filter)
        for (std::int64_t channel = 0; channel < channels_; ++channel)
          gather(filter, to, channel, sums, args.out[0].template as<float>());
    }
  }

 private:
  static constexpr std::int64_t kParts = 2;
  static constexpr int kRows = kSumRows * 2 / 3;  // channels of one product of three vectors
  static constexpr std::int64_t kDepth = 128;     // tiles: three blocks of them fill half of an L1
  static constexpr int kTaps = A::kTapsHigh * A::kTapsWide;

  void transform_inputs(const TensorView& x, std::int64_t block, std::int64_t first, Range tiles,
                        float* to) const {
    const Slide &h = s_.window.h, &w = s_.window.w;
    TileGrid::Place place = grid_.at(first + tiles.first);
    for (std::int64_t t = tiles.first; t < tiles.last; ++t, grid_.advance(place)) {
      Vec cells[A::kPoints], v[A::kPoints];
      load_tile<A::kReadsHigh, A::kReadsWide>(x, place.image, block,
                                              place.row * A::kHigh - h.before,
                                              place.column * A::kWide - w.before, cells);
      A::transform_input(cells, v);
      float* cell = to + (block * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * inputs_, v[p]);
    }
  }

  void transform_gradients(const TensorView& dy, std::int64_t block, std::int64_t group,
                           std::int64_t first, Range tiles, float* to) const {
    TileGrid::Place place = grid_.at(first + tiles.first);
    for (std::int64_t t = tiles.first; t < tiles.last; ++t, grid_.advance(place)) {
      Vec cells[A::kHigh * A::kWide], v[A::kPoints];
      load_tile<A::kHigh, A::kWide>(dy, place.image, group + block, place.row * A::kHigh,
                                    place.column * A::kWide, cells);
      A::transform_gradient(cells, v);
      float* cell = to + (block * together_ + t) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) store(cell + p * gradients_, v[p]);
    }
  }

  void multiply(std::int64_t point, std::int64_t part, std::int64_t filters, std::int64_t count,
                bool is_first, const float* inputs, const float* gradients, float* sums) const {
    const std::int64_t last = filters * (part + 1) / kParts;
    const std::int64_t depth = ceil_div(count, ceil_div(count, kDepth));
    for (std::int64_t begin = 0; begin < count; begin += depth)
      for (std::int64_t filter = filters * part / kParts; filter < last;) {
        const std::int64_t left = last - filter;
        const std::int64_t vecs = left == 4 ? 2 : std::min<std::int64_t>(left, 3);
        const auto product = vecs == 3   ? multiply_channels<kRows, 3>
                             : vecs == 2 ? multiply_channels<kRows, 2>
                                         : multiply_channels<kRows, 1>;
        const float* a = inputs + point * inputs_ + begin * kLanes;
        const float* b = gradients + point * gradients_ + (filter * together_ + begin) * kLanes;
        float* to = sums + point * sums_ + filter * s_.channels * kLanes;
        for (std::int64_t c = 0; c < s_.channels; c += kRows)
          product(a + c / kLanes * together_ * kLanes + c % kLanes, b, together_ * kLanes,
                  std::min(depth, count - begin), is_first && begin == 0, to + c * kLanes,
                  s_.channels * kLanes);
        filter += vecs;
      }
  }

  void gather(std::int64_t filter, std::int64_t group, std::int64_t channel, const float* sums,
              float* dw) const {
    float* to = dw + (filter * channels_ + channel) * kTaps * kLanes * kLanes;
    for (int c = 0; c < kLanes; ++c) {
      Vec products[A::kPoints], taps[kTaps];
      const float* cell = sums + ((filter - group) * s_.channels + channel * kLanes + c) * kLanes;
      for (int p = 0; p < A::kPoints; ++p) products[p] = load(cell + p * sums_);
      A::gather_weights(products, taps);
      for (int tap = 0; tap < kTaps; ++tap)
        store(to + tap * kLanes * kLanes + c * kLanes, taps[tap]);
    }
  }

  ConvolutionShape s_;
  std::int64_t channels_, filters_;  // in blocks
  TileGrid grid_{};
  std::int64_t tiles_ = 0, together_ = 0;
  std::int64_t group_ = 0;  // blocks of filters that are worked on together
  std::int64_t inputs_ = 0, gradients_ = 0, sums_ = 0;  // elements of one point
};

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
