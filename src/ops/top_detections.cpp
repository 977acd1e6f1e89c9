// The surest of a level's (anchor, class) pairs, as boxes: what suppression begins with.
#include <cmath>

#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 3, 3);
  check_real_image(in[0], "the scores");
  const std::int64_t anchors = check_anchors(attrs, 1);
  check_coder(attrs);
  const Shape& x = in[0].shape;
  if (x[1] % anchors != 0)
    refuse(std::to_string(x[1]) + " channels and " + std::to_string(anchors) + " anchors",
           "a channel for each class of each anchor is needed");
  check_same(in[1], blocked(x[0], 4 * anchors, x[2], x[3], in[0]), "the deltas");
  check_extent(in[2], in[0]);
  const std::int64_t most = attrs.integer("most");
  const double threshold = attrs.real("threshold");
  if (most < 1 || most > 1 << 20 || !(threshold >= 0 && threshold < 1))
    refuse("the best " + std::to_string(most) + " above " + std::to_string(threshold),
           "at least one, above 0 up to, not including, 1 is needed");
  if (x[1] * x[2] * x[3] > INT32_MAX)
    refuse("scores are " + to_string(in[0]), "at most 2^31 of an image are allowed");
  return {plain({x[0], most, 6}, widened(in[0].dtype)), plain({x[0]}, DType::i32)};
}

class TopJob final : public Job {
 public:
  explicit TopJob(const Call& call)
      : attrs_(call.attrs),
        level_(anchor_level(call.attrs, 0, 1, call.in[0].spec.shape[2], call.in[0].spec.shape[3])),
        threshold_(call.attrs.real("threshold")),
        most_(call.attrs.integer("most")),
        images_(call.in[0].spec.shape[0]),
        is_double_(call.in[0].spec.dtype == DType::f64) {}

  std::int64_t scratch() const override {
    return images_ * most_ *
           static_cast<std::int64_t>(is_double_ ? sizeof(Ranked<double>) : sizeof(Ranked<float>));
  }

  void run(const Args& args) noexcept override {
    for_element(args.in[0].spec.dtype, [&]<class Element>(Element) {
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < images_; ++n) image<Element>(args, n);
    });
  }

 private:
  template <class Element>
  void image(const Args& args, std::int64_t n) const noexcept {
    using T = Wide<Element>;
    const std::int64_t channels = args.in[0].spec.shape[1];
    const std::int64_t cells = level_.rows * level_.columns;
    BestRanked<T> best(
        {reinterpret_cast<Ranked<T>*>(args.scratch) + n * most_, static_cast<std::size_t>(most_)});
    // Most scores are far below: exp is only taken of those that may be above.
    const auto threshold = static_cast<T>(threshold_);
    const auto hopeful = static_cast<T>(std::log(threshold_ / (1 - threshold_)) - 0.01);
    const Element* scores = args.in[0].image<Element>(n);
    const std::int64_t lanes = args.in[0].spec.lanes;
    for (std::int64_t block = 0; block < args.in[0].spec.blocks(); ++block) {
      const std::int64_t used = std::min(lanes, channels - block * lanes);
      for (std::int64_t cell = 0; cell < cells; ++cell)
        for (std::int64_t lane = 0; lane < used; ++lane) {
          const T x = scores[(block * cells + cell) * lanes + lane];
          if (!(x > hopeful)) continue;
          const T score = 1 / (1 + std::exp(-x));
          if (score > threshold)
            best.offer({score, static_cast<std::int32_t>(cell * channels + block * lanes + lane)});
        }
    }
    const std::span<Ranked<T>> found = best.sort();
    const std::span rows = rows_of<boxes::Candidate<T>, T>(args.out[0], n);
    for (std::size_t i = 0; i < found.size(); ++i) rows[i] = candidate<Element>(args, n, found[i]);
    std::fill(rows.begin() + std::ssize(found), rows.end(), boxes::Candidate<T>{});
    args.out[1].at<std::int32_t>(n) = static_cast<std::int32_t>(found.size());
  }

  template <class Element, class T = Wide<Element>>
  boxes::Candidate<T> candidate(const Args& args, std::int64_t n,
                                const Ranked<T>& one) const noexcept {
    const std::int64_t channels = args.in[0].spec.shape[1];
    const std::int64_t classes = channels / std::ssize(level_.shapes);
    const std::int64_t cell = one.index / channels;
    const std::int64_t a = one.index % channels / classes;
    const boxes::Box<T> box =
        coder_of<T>(attrs_).decode(level_.box<T>(cell / level_.columns, cell % level_.columns, a),
                                   deltas_at<Element>(args.in[1], n, a, cell));
    const T* extent = args.in[2].image<T>(n);
    return {boxes::clipped(box, extent[0], extent[1]), one.score,
            static_cast<T>(one.index % classes)};
  }

  Attrs attrs_;
  boxes::AnchorLevel level_;
  double threshold_;
  std::int64_t most_;
  std::int64_t images_;
  bool is_double_;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<TopJob>(call); }

Sample sample(const Spec& x, const Ints& shapes, Attrs attrs) {
  const Shape& shape = x.shape;
  attrs.set("shapes", shapes);
  return {.in = {{x},
                 {blocked(shape[0], 2 * std::ssize(shapes), shape[2], shape[3])},
                 {plain({shape[0], 2}), SampleInput::Fill::side, 50}},
          .attrs = std::move(attrs)};
}

}  // namespace

extern const OpFamily top_detections;
const OpFamily top_detections{{
    {.name = "top_detections",
     .doc = "The (anchor, class) pairs of a level whose sigmoid is > threshold, the highest first "
            "(of equals the first by cell, anchor and class): rows of a box, clipped to the "
            "extent, score and class; then how many. in: scores, deltas, height and width of each "
            "picture.",
     .attrs = with_anchors({{"threshold", 0.05, "scores up to this are left out"},
                            {"most", std::int64_t{1000}, "rows of each image"},
                            coder_schema()}),
     .infer = infer,
     .cost = pass_over<2>,
     .kernels = {{"heap", make_job, kAnyElement}},
     .samples = {sample(blocked(2, 10, 4, 5), {8, 8, 12, 6}, {{"most", std::int64_t{30}}}),
                 sample(blocked(3, 3, 3, 3), {8, 8, 12, 6, 6, 12},
                        {{"most", std::int64_t{40}}, {"threshold", 0.6}}),
                 sample(blocked(1, 18, 5, 3), {8, 8, 5, 10}, {{"most", std::int64_t{7}}})}},
}};

}  // namespace plimsoll::ops
