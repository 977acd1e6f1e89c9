// Cells under boxes, as images of one size: each box is read from the level that fits its size, at
// four points between cells for every bin, which the mean is taken of.
#include <array>
#include <cmath>

#include "kernels/clear.h"
#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kMostTaps = 64;  // in one direction

void check_grid(const Attrs& attrs) {
  const std::int64_t size = attrs.integer("size"), samples = attrs.integer("samples");
  const std::int64_t first = attrs.integer("first_level");
  if (size < 1 || samples < 1 || size > kMostTaps || samples > kMostTaps ||
      size * samples > kMostTaps || first < 0 || first > 16)
    refuse("size " + std::to_string(size) + ", samples " + std::to_string(samples) +
               ", first level " + std::to_string(first),
           "a size times samples of 1 to 64 and a level of 0 to 16 are needed");
}

void check_rois(const Spec& rois, std::int64_t images, DType dtype) {
  check_matrix(rois, "the boxes");
  if (rois.dtype != widened(dtype) || rois.shape[1] != 4 || rois.shape[0] % images != 0)
    refuse("the boxes are " + to_string(rois),
           "rows of 4, as many for each of " + std::to_string(images) + " images, are needed");
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  if (in.size() < 2) check_count(in, 2, 2);
  check_grid(attrs);
  for (const Spec& level : in.subspan(1)) {
    check_real_image(level, "a level");
    const Shape &of = level.shape, &first = in[1].shape;
    check_same(level, blocked(first[0], first[1], of[2], of[3], in[1].dtype), "a level");
  }
  check_rois(in[0], in[1].shape[0], in[1].dtype);
  const std::int64_t size = attrs.integer("size");
  return {blocked(in[0].shape[0], in[1].shape[1], size, size, in[1].dtype)};
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_grid(attrs);
  const Spec &dy = in[0], &rois = in[1];
  check_real_image(dy, "the output gradient");
  const std::int64_t images = attrs.integer("images"), size = attrs.integer("size");
  const Ints& cells = attrs.ints("cells");
  check_list(attrs, "cells", cells.size(), 1);
  if (cells.empty() || cells.size() % 2 != 0 || images < 1)
    refuse("cells " + to_string(AttrValue(cells)) + " of " + std::to_string(images) + " images",
           "rows and columns of every level are needed");
  check_rois(rois, images, dy.dtype);
  check_same(dy, blocked(rois.shape[0], dy.shape[1], size, size, dy.dtype), "the output gradient");
  Specs out;
  for (std::size_t l = 0; l < cells.size(); l += 2)
    out.push_back(blocked(images, dy.shape[1], cells[l], cells[l + 1], dy.dtype));
  return out;
}

// Where one row (or column) of points reads: two cells and the share of the second.
template <class T>
struct Tap {
  std::int32_t low = -1;  // -1: outside, which counts as 0
  std::int32_t high = -1;
  T share = 0;
};

template <class T>
Tap<T> tap_at(T place, std::int64_t cells) {
  if (!(place >= -1 && place <= static_cast<T>(cells))) return {};
  place = std::max(place, T(0));
  const auto low = static_cast<std::int32_t>(place);
  const auto last = static_cast<std::int32_t>(cells - 1);
  if (low >= last) return {last, last, 0};
  return {low, low + 1, place - static_cast<T>(low)};
}

// The points of one box, rows first.
template <class T>
struct Points {
  std::int64_t level = 0;
  std::span<Tap<T>> rows, columns;
};

class Grid {
 public:
  explicit Grid(const Attrs& attrs)
      : size(attrs.integer("size")),
        samples(attrs.integer("samples")),
        first_(attrs.integer("first_level")) {}

  std::int64_t taps() const { return size * samples; }

  // floor(4 + log2(side / 224)) of torchvision, kept within the levels there are.
  template <class T>
  std::int64_t level_of(const T* roi, std::int64_t levels) const {
    const T side = std::sqrt((roi[2] - roi[0]) * (roi[3] - roi[1]));
    const T level = std::floor(T(4) + std::log2(side / T(224)) + T(1e-6));
    const auto last = static_cast<T>(first_ + levels - 1);
    if (!(level > static_cast<T>(first_))) return 0;  // nor NaN
    return static_cast<std::int64_t>(std::min(level, last)) - first_;
  }

  template <class T>
  void fill(const T* roi, std::int64_t rows, std::int64_t columns, const Points<T>& points) const {
    const T scale = std::ldexp(T(1), -static_cast<int>(first_ + points.level));
    const auto axis = [&](T from, T to, std::int64_t cells, std::span<Tap<T>> taps) {
      const T bin = std::max((to - from) * scale, T(1)) / static_cast<T>(size);
      for (std::int64_t p = 0; p < size; ++p)
        for (std::int64_t i = 0; i < samples; ++i)
          taps[static_cast<std::size_t>(p * samples + i)] =
              tap_at(from * scale + static_cast<T>(p) * bin +
                         (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(samples),
                     cells);
    };
    axis(roi[1], roi[3], rows, points.rows);
    axis(roi[0], roi[2], columns, points.columns);
  }

  // body(cell, weight) for the four cells around a point, those that count.
  template <class T, class Body>
  static void around(const Tap<T>& y, const Tap<T>& x, std::int64_t columns, Body body) {
    if (y.low < 0 || x.low < 0) return;
    body(y.low * columns + x.low, (1 - y.share) * (1 - x.share));
    body(y.low * columns + x.high, (1 - y.share) * x.share);
    body(y.high * columns + x.low, y.share * (1 - x.share));
    body(y.high * columns + x.high, y.share * x.share);
  }

  // body(bin, row tap, column tap) in order of bins, then of points.
  template <class T, class Body>
  void over_points(const Points<T>& points, Body body) const {
    for (std::int64_t bin = 0; bin < size * size; ++bin)
      for (std::int64_t i = 0; i < samples * samples; ++i)
        body(bin, points.rows[static_cast<std::size_t>(bin / size * samples + i / samples)],
             points.columns[static_cast<std::size_t>(bin % size * samples + i % samples)]);
  }

  std::int64_t size, samples;

 private:
  std::int64_t first_;
};

void forward(const Attrs& attrs, const Args& args) noexcept {
  const Grid grid(attrs);
  const TensorView &rois = args.in[0], &y = args.out[0];
  const std::span<const TensorView> levels = args.in.subspan(1);
  const std::int64_t of_image = rois.spec.shape[0] / levels[0].spec.shape[0];
  const std::int64_t bins = grid.size * grid.size;
  for_real(y.spec.dtype, [&]<class T>(T) {
    const T mean = T(1) / static_cast<T>(grid.samples * grid.samples);
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < rois.spec.shape[0]; ++r) {
      std::array<Tap<T>, 2 * kMostTaps> taps;
      Points<T> points{.level = grid.level_of(rois.image<T>(r), std::ssize(levels)),
                       .rows = std::span(taps).first(static_cast<std::size_t>(grid.taps())),
                       .columns = std::span(taps).last(static_cast<std::size_t>(grid.taps()))};
      const TensorView& level = levels[static_cast<std::size_t>(points.level)];
      const std::int64_t rows = level.spec.shape[2], columns = level.spec.shape[3];
      grid.fill(rois.image<T>(r), rows, columns, points);
      for (std::int64_t b = 0; b < blocks_of(level.spec.shape[1]); ++b) {
        const T* from = level.image<T>(r / of_image) + b * rows * columns * kLanes;
        T* to = y.image<T>(r) + b * bins * kLanes;
        std::fill_n(to, bins * kLanes, T(0));
        grid.over_points(points, [&](std::int64_t bin, const Tap<T>& row, const Tap<T>& column) {
          Grid::around(row, column, columns, [&](std::int64_t cell, T weight) {
            for (std::int64_t lane = 0; lane < kLanes; ++lane)
              to[bin * kLanes + lane] += weight * from[cell * kLanes + lane];
          });
        });
        for (std::int64_t i = 0; i < bins * kLanes; ++i) to[i] *= mean;
      }
    }
  });
}

// A task is one block of channels of one image: nobody else writes its planes, and it walks the
// image's boxes in order, so every sum has one order at any number of threads.
class GradJob final : public Job {
 public:
  explicit GradJob(const Call& call)
      : grid_(call.attrs),
        rois_(call.in[1].spec.shape[0]),
        is_double_(call.in[0].spec.dtype == DType::f64) {}

  std::int64_t scratch() const override {
    return rois_ * (2 * grid_.taps() * (is_double_ ? tap_bytes<double>() : tap_bytes<float>()) + 8);
  }

  void run(const Args& args) noexcept override {
    for_real(args.in[0].spec.dtype, [&]<class T>(T) { add<T>(args); });
  }

 private:
  template <class T>
  static std::int64_t tap_bytes() {
    return static_cast<std::int64_t>(sizeof(Tap<T>));
  }

  template <class T>
  void add(const Args& args) const noexcept {
    const TensorView &dy = args.in[0], &rois = args.in[1];
    auto* level_of = reinterpret_cast<std::int64_t*>(args.scratch);
    auto* taps = reinterpret_cast<Tap<T>*>(level_of + rois_);
    const auto points_of = [&](std::int64_t r) {
      const std::span own(taps + 2 * grid_.taps() * r, static_cast<std::size_t>(2 * grid_.taps()));
      return Points<T>{.level = level_of[r],
                       .rows = own.first(own.size() / 2),
                       .columns = own.last(own.size() / 2)};
    };
#pragma omp parallel for schedule(static)
    for (std::int64_t r = 0; r < rois_; ++r) {
      level_of[r] = grid_.level_of(rois.image<T>(r), std::ssize(args.out));
      const Shape& shape = args.out[static_cast<std::size_t>(level_of[r])].spec.shape;
      grid_.fill(rois.image<T>(r), shape[2], shape[3], points_of(r));
    }
    const std::int64_t images = args.out[0].spec.shape[0];
    const std::int64_t blocks = blocks_of(dy.spec.shape[1]);
    const std::int64_t bins = grid_.size * grid_.size;
    const T mean = T(1) / static_cast<T>(grid_.samples * grid_.samples);
#pragma omp parallel for schedule(static)
    for (std::int64_t task = 0; task < images * blocks; ++task) {
      const std::int64_t n = task / blocks, b = task % blocks;
      const auto plane = [&](std::size_t l) {
        const Shape& shape = args.out[l].spec.shape;
        const std::int64_t length = shape[2] * shape[3] * kLanes;
        return std::span(args.out[l].image<T>(n) + b * length, static_cast<std::size_t>(length));
      };
      for (std::size_t l = 0; l < args.out.size(); ++l) std::ranges::fill(plane(l), T(0));
      for (std::int64_t r = n * (rois_ / images); r < (n + 1) * (rois_ / images); ++r) {
        const Points<T> points = points_of(r);
        const auto l = static_cast<std::size_t>(points.level);
        T* to = plane(l).data();
        const T* from = dy.image<T>(r) + b * bins * kLanes;
        const std::int64_t columns = args.out[l].spec.shape[3];
        grid_.over_points(points, [&](std::int64_t bin, const Tap<T>& row, const Tap<T>& column) {
          Grid::around(row, column, columns, [&](std::int64_t cell, T weight) {
            for (std::int64_t lane = 0; lane < kLanes; ++lane)
              to[cell * kLanes + lane] += mean * weight * from[bin * kLanes + lane];
          });
        });
      }
    }
  }

  Grid grid_;
  std::int64_t rois_;
  bool is_double_;
};

std::unique_ptr<Job> make_grad_job(const Call& call) { return std::make_unique<GradJob>(call); }

Values backward(const Backward& b) {
  Attrs attrs;
  for (const char* name : {"size", "samples", "first_level"})
    attrs.set(name, b.node.attrs.integer(name));
  Ints cells;
  for (std::size_t l = 1; l < b.node.in.size(); ++l)
    for (std::int64_t side : image_size(b.graph.spec(b.node.in[l]))) cells.push_back(side);
  attrs.set("cells", cells);
  attrs.set("images", b.graph.spec(b.node.in[1]).shape[0]);
  Values dx = b.none();
  const Values levels = b.call("roi_align_grad", {b.dy[0], b.node.in[0]}, attrs);
  std::copy(levels.begin(), levels.end(), dx.begin() + 1);
  return dx;
}

std::vector<AttrSchema> schema(std::vector<AttrSchema> more = {}) {
  std::vector<AttrSchema> attrs{
      {"size", std::int64_t{7}, "rows and columns of bins"},
      {"samples", std::int64_t{2}, "points of a bin in each direction"},
      {"first_level", std::int64_t{2}, "cells of the first level are 2 to this pixels apart"}};
  for (AttrSchema& one : more) attrs.push_back(std::move(one));
  return attrs;
}

Attrs small_grid(std::int64_t size, std::int64_t samples, std::int64_t first) {
  return {{"size", size}, {"samples", samples}, {"first_level", first}};
}

}  // namespace

extern const OpFamily roi_align;
const OpFamily roi_align{{
    {.name = "roi_align",
     .doc = "Bins of boxes over the level that fits each: floor(4 + log2(sqrt(area) / 224)) among "
            "those there are. A bin is the mean of points between cells; points more than a cell "
            "outside count as 0. in: boxes, as many for each image, then the levels.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .cost = pass_over<32>,
     .kernels = {{"loop", plain_job<forward>, kAnyReal}},
     .samples = {{.in = {{plain({6, 4}), SampleInput::Fill::box, 60},
                         {blocked(2, 5, 12, 10)},
                         {blocked(2, 5, 6, 5)}},
                  .attrs = small_grid(3, 2, 2)},
                 {.in = {{plain({4, 4}), SampleInput::Fill::box, 900},
                         {blocked(1, 11, 9, 9)},
                         {blocked(1, 11, 5, 5)},
                         {blocked(1, 11, 3, 3)}},
                  .attrs = small_grid(2, 3, 3)}}},
    {.name = "roi_align_grad",
     .doc = "Gradients by the levels that roi_align reads. in: output gradient, boxes.",
     .attrs = schema({{"cells", Ints{1, 1}, "rows and columns of each level"},
                      {"images", std::int64_t{1}, "of each level"}}),
     .infer = infer_grad,
     .cost = pass_over<32>,
     .kernels = {{"loop", make_grad_job, kAnyReal}},
     .samples = {{.in = {{blocked(6, 5, 3, 3)}, {plain({6, 4}), SampleInput::Fill::box, 60}},
                  .attrs = {{"size", std::int64_t{3}},
                            {"cells", Ints{12, 10, 6, 5}},
                            {"images", std::int64_t{2}}}},
                 {.in = {{blocked(4, 19, 2, 2)}, {plain({4, 4}), SampleInput::Fill::box, 900}},
                  .attrs = {{"size", std::int64_t{2}},
                            {"samples", std::int64_t{3}},
                            {"first_level", std::int64_t{3}},
                            {"cells", Ints{9, 9, 5, 5, 3, 3}},
                            {"images", std::int64_t{1}}}}}},
}};

}  // namespace plimsoll::ops
