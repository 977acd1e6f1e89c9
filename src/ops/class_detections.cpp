// Boxes of every class that a box of the first stage may be, as candidates for suppression.
#include <cmath>

#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

enum In : std::size_t { kScores, kDeltas, kRois, kCounts, kExtent, kInputs };

// Shares of one row that are above the threshold: 1 / threshold at most.
std::int64_t most_of_a_row(const Attrs& attrs, std::int64_t classes) {
  return std::min(classes, static_cast<std::int64_t>(1 / attrs.real("threshold")));
}

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, kInputs, kInputs);
  check_rows(in[kRois], 4, "the boxes");
  const std::int64_t images = in[kRois].shape[0], rois = in[kRois].shape[1];
  const DType dtype = in[kRois].dtype;
  check_matrix(in[kScores], "the scores");
  const std::int64_t columns = in[kScores].shape[1];
  if (columns < 2) refuse("one column of scores", "background and at least one class are needed");
  check_same(in[kScores], plain({images * rois, columns}, dtype), "the scores");
  check_same(in[kDeltas], plain({images * rois, 4 * columns}, dtype), "the deltas");
  check_counts(in[kCounts], images, "the numbers of boxes");
  check_same(in[kExtent], plain({images, 2}, dtype), "the extent");
  check_coder(attrs);
  const double threshold = attrs.real("threshold");
  if (!(threshold > 1e-6 && threshold < 1))
    refuse("threshold " + std::to_string(threshold), "above 0 and below 1 is needed");
  return {plain({images, rois * most_of_a_row(attrs, columns - 1), 6}, dtype),
          plain({images}, DType::i32)};
}

void candidates(const Attrs& attrs, const Args& args) noexcept {
  const Shape& shape = args.in[kRois].spec.shape;
  const std::int64_t columns = args.in[kScores].spec.shape[1];
  for_real(args.in[kRois].spec.dtype, [&]<class T>(T) {
    const auto threshold = static_cast<T>(attrs.real("threshold"));
    const auto least = static_cast<T>(attrs.real("least_side"));
    const boxes::Coder<T> coder = coder_of<T>(attrs);
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      const auto rois = boxes_of<T>(args.in[kRois], args.in[kCounts], n);
      const std::span rows = rows_of<boxes::Candidate<T>, T>(args.out[0], n);
      const T* extent = args.in[kExtent].image<T>(n);
      std::size_t count = 0;
      for (std::int64_t r = 0; r < std::ssize(rois); ++r) {
        const T* scores = args.in[kScores].image<T>(n * shape[1] + r);
        const T* deltas = args.in[kDeltas].image<T>(n * shape[1] + r);
        for (std::int64_t k = 1; k < columns && count < rows.size(); ++k) {
          if (!(scores[k] > threshold)) continue;
          const boxes::Deltas<T> own{deltas[4 * k], deltas[4 * k + 1], deltas[4 * k + 2],
                                     deltas[4 * k + 3]};
          const boxes::Box<T> box = boxes::clipped(
              coder.decode(rois[static_cast<std::size_t>(r)], own), extent[0], extent[1]);
          if (box.width() >= least && box.height() >= least)
            rows[count++] = {box, scores[k], static_cast<T>(k - 1)};
        }
      }
      std::fill(rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                boxes::Candidate<T>{});
      args.out[1].at<std::int32_t>(n) = static_cast<std::int32_t>(count);
    }
  });
}

Sample sample(std::int64_t images, std::int64_t rois, std::int64_t classes, double threshold) {
  using Fill = SampleInput::Fill;
  return {.in = {{plain({images * rois, classes + 1}), Fill::unit},
                 {plain({images * rois, 4 * (classes + 1)})},
                 {plain({images, rois, 4}), Fill::box, 40},
                 {plain({images}, DType::i32), Fill::label, rois + 1},
                 {plain({images, 2}), Fill::side, 40}},
          .attrs = {{"threshold", threshold}}};
}

}  // namespace

extern const OpFamily class_detections;
const OpFamily class_detections{{
    {.name = "class_detections",
     .doc = "Rows of a box, score and class for each box and class (column - 1; column 0 is "
            "nothing) whose score is > threshold: decoded by the class's own deltas, clipped to "
            "the extent, without thin ones, in order of boxes and classes; then how many. in: "
            "scores that sum to 1, deltas, boxes, their numbers, height and width of each picture.",
     .attrs = {{"threshold", 0.05, "scores up to this are left out"},
               {"least_side", 1e-2, "boxes with a smaller side are left out"},
               {"weights", Ints{10, 10, 5, 5}, "what dx, dy, dw and dh are multiplied by"}},
     .infer = infer,
     .cost = pass_over<8>,
     .kernels = {{"loop", plain_job<candidates>, kAnyReal}},
     .samples = {sample(2, 6, 4, 0.2), sample(3, 5, 1, 0.5)}},
}};

}  // namespace plimsoll::ops
