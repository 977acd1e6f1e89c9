// Which box every anchor of every level is to find, and what a picture's losses weigh. Two passes
// over the anchors; nothing of anchors x boxes is ever stored.
#include "boxes/matching.h"

#include <omp.h>

#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

std::int64_t levels_of(const Attrs& attrs) { return std::ssize(attrs.ints("cells")) / 2; }

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_rows(in[0], 4, "the boxes");
  const std::int64_t images = in[0].shape[0];
  check_counts(in[1], images, "the numbers of boxes");
  const std::int64_t levels = levels_of(attrs);
  const Ints& cells = attrs.ints("cells");
  if (levels == 0) refuse("no cells", "rows and columns of at least one level are needed");
  check_list(attrs, "cells", static_cast<std::size_t>(2 * levels), 1);
  const std::int64_t anchors = check_anchors(attrs, levels);
  const double positive = attrs.real("positive"), negative = attrs.real("negative");
  if (!(negative > 0 && negative <= positive && positive <= 1))
    refuse("thresholds " + std::to_string(negative) + " and " + std::to_string(positive),
           "0 < negative <= positive <= 1 is needed");
  Specs out;
  for (std::size_t l = 0; l < cells.size(); l += 2)
    out.push_back(plain({images, anchors, cells[l], cells[l + 1]}, DType::i32));
  out.push_back(plain({images}, in[0].dtype));
  return out;
}

// A thread's part of the scratch begins on a line of its own.
std::int64_t in_lines(std::int64_t bytes) { return round_up(bytes, 64); }

class MatchJob final : public Job {
 public:
  explicit MatchJob(const Call& call)
      : rule_{.positive = call.attrs.real("positive"),
              .negative = call.attrs.real("negative"),
              .low_quality = call.attrs.flag("low_quality")},
        threads_(call.environment.threads),
        is_double_(call.in[0].spec.dtype == DType::f64) {
    const Ints& cells = call.attrs.ints("cells");
    const std::int64_t levels = levels_of(call.attrs);
    for (std::int64_t l = 0; l < levels; ++l) {
      levels_.push_back(anchor_level(call.attrs, l, levels, cells[static_cast<std::size_t>(2 * l)],
                                     cells[static_cast<std::size_t>(2 * l + 1)]));
      rows_ += levels_.back().rows;
      columns_ = std::max(columns_, levels_.back().columns);
    }
    const Shape& boxes = call.in[0].spec.shape;
    images_ = boxes[0];
    best_bytes_ = in_lines(boxes[0] * boxes[1] * (is_double_ ? 8 : 4));
    row_bytes_ = in_lines(is_double_ ? boxes::match_scratch_bytes<double>(columns_)
                                     : boxes::match_scratch_bytes<float>(columns_));
  }

  std::int64_t scratch() const override {
    return threads_ * (best_bytes_ + row_bytes_) + in_lines(images_ * 8);
  }

  void run(const Args& args) noexcept override {
    for_real(args.in[0].spec.dtype, [&]<class T>(T) { match<T>(args); });
  }

 private:
  // body(image, level, row) for a share of all rows of all images.
  template <class Body>
  void over_rows(Body body) const {
#pragma omp for schedule(static)
    for (std::int64_t task = 0; task < images_ * rows_; ++task) {
      std::int64_t row = task % rows_;
      std::size_t l = 0;
      while (row >= levels_[l].rows) row -= levels_[l++].rows;
      body(task / rows_, l, row);
    }
  }

  template <class T>
  void match(const Args& args) const noexcept {
    const TensorView &boxes = args.in[0], &counts = args.in[1];
    const std::int64_t most = boxes.spec.shape[1];
    std::byte* const rows = args.scratch + threads_ * best_bytes_;
    auto* positives = reinterpret_cast<std::int64_t*>(rows + threads_ * row_bytes_);
    const auto best_of = [&](int thread) {
      return reinterpret_cast<T*>(args.scratch + thread * best_bytes_);
    };
    const auto best_in = [&](int thread, std::int64_t n) {
      return std::span(best_of(thread) + n * most,
                       static_cast<std::size_t>(count_at(counts, n, most)));
    };
    std::fill_n(positives, images_, std::int64_t{0});
#pragma omp parallel num_threads(threads_)
    {
      const int thread = omp_get_thread_num();
      std::fill_n(best_of(thread), images_ * most, T(0));
      over_rows([&](std::int64_t n, std::size_t l, std::int64_t row) {
        boxes::raise_best<T>(levels_[l], row, row + 1, boxes_of<T>(boxes, counts, n),
                             best_in(thread, n));
      });
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < images_ * most; ++i)
        for (int other = 1; other < omp_get_num_threads(); ++other)
          best_of(0)[i] = std::max(best_of(0)[i], best_of(other)[i]);
      over_rows([&](std::int64_t n, std::size_t l, std::int64_t row) {
        const TensorView& codes = args.out[l];
        const std::int64_t found = boxes::match_rows<T>(
            levels_[l], row, row + 1, boxes_of<T>(boxes, counts, n), best_in(0, n), rule_,
            {codes.image<std::int32_t>(n), static_cast<std::size_t>(levels_[l].count())},
            rows + thread * row_bytes_);
#pragma omp atomic
        positives[n] += found;
      });
    }
    for (std::int64_t n = 0; n < images_; ++n)
      args.out.back().at<T>(n) = static_cast<T>(
          1.0 / static_cast<double>(images_ * std::max<std::int64_t>(1, positives[n])));
  }

  boxes::MatchRule rule_;
  int threads_;
  bool is_double_;
  std::vector<boxes::AnchorLevel> levels_;
  std::int64_t images_ = 0;
  std::int64_t rows_ = 0;     // of all levels
  std::int64_t columns_ = 0;  // of the widest
  std::int64_t best_bytes_ = 0;
  std::int64_t row_bytes_ = 0;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<MatchJob>(call); }

// Both passes look at every anchor; few boxes touch it.
Cost cost(const Attrs&, std::span<const Spec> in, std::span<const Spec> out) {
  Cost cost;
  for (const Spec& spec : in) cost.bytes += static_cast<double>(spec.bytes());
  for (const Spec& spec : out) {
    cost.bytes += static_cast<double>(spec.bytes());
    cost.flops += 40 * static_cast<double>(spec.stored_elements());
  }
  return cost;
}

Sample sample(std::int64_t images, std::int64_t boxes, std::int64_t canvas, Attrs attrs) {
  return {.in = {{plain({images, boxes, 4}), SampleInput::Fill::box, canvas},
                 {plain({images}, DType::i32), SampleInput::Fill::label, boxes + 1}},
          .attrs = std::move(attrs)};
}

}  // namespace

extern const OpFamily match_anchors;
const OpFamily match_anchors{{
    {.name = "match_anchors",
     .doc = "For each level, what each anchor is to find: the index of a box, -1 (nothing) or -2 "
            "(not counted); last, 1 / (images * positives) for each image. in: boxes, their "
            "numbers.",
     .attrs = with_anchors(
         {{"cells", Ints{1, 1}, "rows and columns of each level"},
          {"positive", 0.5, "an anchor with an IoU of at least this finds the box"},
          {"negative", 0.4, "an anchor with less than this finds nothing"},
          {"low_quality", std::int64_t{1}, "1: the nearest anchors of each box find one, too"}}),
     .infer = infer,
     .cost = cost,
     .kernels = {{"two-pass", make_job, kAnyReal}},
     .samples = {sample(3, 7, 64,
                        {{"cells", Ints{8, 8, 4, 4}},
                         {"strides", Ints{8, 8, 16, 16}},
                         {"shapes", Ints{8, 8, 12, 6, 16, 16, 24, 12}}}),
                 sample(2, 30, 100,
                        {{"cells", Ints{13, 7}},
                         {"strides", Ints{7, 14}},
                         {"shapes", Ints{11, 23}},
                         {"positive", 0.7},
                         {"negative", 0.3}}),
                 sample(1, 4, 40,
                        {{"cells", Ints{5, 5}},
                         {"strides", Ints{8, 8}},
                         {"shapes", Ints{6, 6, 9, 9, 4, 11}},
                         {"low_quality", std::int64_t{0}}})}},
}};

}  // namespace plimsoll::ops
