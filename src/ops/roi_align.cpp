// Cells under boxes, as images of one size: each box is read from the level that fits its size, at
// four points between cells for every bin, which the mean is taken of.
#include <omp.h>

#include <array>
#include <cmath>

#include "kernels/runs.h"
#include "ops/detection.h"
#include "ops/roi_grid.h"

namespace plimsoll::ops {
namespace {

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
    check_same(level, blocked(first[0], first[1], of[2], of[3], in[1]), "a level");
  }
  check_rois(in[0], in[1].shape[0], in[1].dtype);
  const std::int64_t size = attrs.integer("size");
  return {blocked(in[0].shape[0], in[1].shape[1], size, size, in[1])};
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
  check_same(dy, blocked(rois.shape[0], dy.shape[1], size, size, dy), "the output gradient");
  Specs out;
  for (std::size_t l = 0; l < cells.size(); l += 2)
    out.push_back(blocked(images, dy.shape[1], cells[l], cells[l + 1], dy));
  return out;
}

void forward(const Attrs& attrs, const Args& args) noexcept {
  const RoiGrid grid(attrs);
  const TensorView &rois = args.in[0], &y = args.out[0];
  const std::span<const TensorView> levels = args.in.subspan(1);
  const std::int64_t of_image = rois.spec.shape[0] / levels[0].spec.shape[0];
  const std::int64_t bins = grid.size * grid.size;
  kernels::with_element_and_lanes(y.spec, [&]<class Element, std::int64_t lanes>() {
    using T = Wide<Element>;
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
      for (std::int64_t b = 0; b < level.spec.blocks(); ++b) {
        const Element* from = level.image<Element>(r / of_image) + b * rows * columns * lanes;
        Element* to = y.image<Element>(r) + b * bins * lanes;
        for (std::int64_t bin = 0; bin < bins; ++bin) {
          T sum[lanes] = {};
          grid.over_points(points, bin, [&](const Tap<T>& row, const Tap<T>& column) {
            RoiGrid::around(row, column, columns, [&](std::int64_t cell, T weight) {
              for (std::int64_t lane = 0; lane < lanes; ++lane)
                sum[lane] += weight * from[cell * lanes + lane];
            });
          });
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            to[bin * lanes + lane] = sum[lane] * mean;
        }
      }
    }
  });
}

// A task is one block of channels of one image: nobody else writes its planes, and it walks the
// image's boxes in order, so every sum has one order at any number of threads. Sums that end as
// bf16 are taken in a plane of f32, one for each thread.
class GradJob final : public Job {
 public:
  explicit GradJob(const Call& call)
      : grid_(call.attrs),
        rois_(call.in[1].spec.shape[0]),
        threads_(call.environment.threads),
        dtype_(call.in[0].spec.dtype),
        lanes_(call.in[0].spec.lanes) {
    for (const Operand& level : call.out) {
      const Shape& shape = level.spec.shape;
      cells_ += shape[2] * shape[3];
    }
  }

  std::int64_t scratch() const override {
    const std::int64_t tap = dtype_ == DType::f64 ? tap_bytes<double>() : tap_bytes<float>();
    return sums_at(tap) + (dtype_ == DType::bf16 ? threads_ * cells_ * lanes_ * 4 : 0);
  }

  void run(const Args& args) noexcept override {
    kernels::with_element_and_lanes(
        args.in[0].spec, [&]<class Element, std::int64_t lanes>() { add<Element, lanes>(args); });
  }

 private:
  template <class T>
  static std::int64_t tap_bytes() {
    return static_cast<std::int64_t>(sizeof(Tap<T>));
  }
  // Behind the levels and points of all boxes.
  std::int64_t sums_at(std::int64_t tap) const {
    return round_up(rois_ * (2 * grid_.taps() * tap + 8), 64);
  }

  template <class Element, std::int64_t lanes>
  void add(const Args& args) const noexcept {
    using T = Wide<Element>;
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
    const std::int64_t blocks = dy.spec.blocks();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t task = 0; task < images * blocks; ++task) {
      const std::int64_t n = task / blocks, b = task % blocks;
      const auto plane = [&](std::size_t l) {
        const Shape& shape = args.out[l].spec.shape;
        const std::int64_t length = shape[2] * shape[3] * lanes;
        return std::span(args.out[l].template image<Element>(n) + b * length,
                         static_cast<std::size_t>(length));
      };
      if constexpr (std::is_same_v<Element, T>) {
        const auto sums = [&](std::size_t l) { return plane(l).data(); };
        for (std::size_t l = 0; l < args.out.size(); ++l) std::ranges::fill(plane(l), T(0));
        add_boxes<T, lanes>(args, n, b, points_of, sums);
      } else {
        T* own = reinterpret_cast<T*>(args.scratch + sums_at(tap_bytes<T>())) +
                 omp_get_thread_num() * cells_ * lanes;
        const auto sums = [&](std::size_t l) {
          T* at = own;
          for (std::size_t before = 0; before < l; ++before) at += plane(before).size();
          return at;
        };
        std::fill_n(own, cells_ * lanes, T(0));
        add_boxes<Element, lanes>(args, n, b, points_of, sums);
        for (std::size_t l = 0; l < args.out.size(); ++l)
          std::copy_n(sums(l), plane(l).size(), plane(l).begin());
      }
    }
  }

  // Adds what the boxes of image `n` hand to the levels, whose sums of block `b` lie at
  // sums(level).
  template <class Element, std::int64_t lanes, class PointsOf, class Sums>
  void add_boxes(const Args& args, std::int64_t n, std::int64_t b, const PointsOf& points_of,
                 const Sums& sums) const noexcept {
    using T = Wide<Element>;
    const std::int64_t images = args.out[0].spec.shape[0];
    const std::int64_t bins = grid_.size * grid_.size;
    const T mean = T(1) / static_cast<T>(grid_.samples * grid_.samples);
    for (std::int64_t r = n * (rois_ / images); r < (n + 1) * (rois_ / images); ++r) {
      const Points<T> points = points_of(r);
      const auto l = static_cast<std::size_t>(points.level);
      T* to = sums(l);
      const Element* from = args.in[0].template image<Element>(r) + b * bins * lanes;
      const std::int64_t columns = args.out[l].spec.shape[3];
      for (std::int64_t bin = 0; bin < bins; ++bin)
        grid_.over_points(points, bin, [&](const Tap<T>& row, const Tap<T>& column) {
          RoiGrid::around(row, column, columns, [&](std::int64_t cell, T weight) {
            for (std::int64_t lane = 0; lane < lanes; ++lane)
              to[cell * lanes + lane] += mean * weight * from[bin * lanes + lane];
          });
        });
    }
  }

  RoiGrid grid_;
  std::int64_t rois_;
  int threads_;
  DType dtype_;
  std::int64_t lanes_;
  std::int64_t cells_ = 0;  // of all levels
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
     .kernels = {{"loop", plain_job<forward>, kAnyElement}},
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
     .kernels = {{"loop", make_grad_job, kAnyElement}},
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
