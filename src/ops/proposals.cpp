// Where the first stage of a detector thinks that something is: the surest anchors of each level,
// decoded, without those that tell of one thing twice. No gradient goes through it.
#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

std::int64_t levels_of(std::span<const Spec> in) {
  return static_cast<std::int64_t>((in.size() - 1) / 2);
}

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  if (in.size() < 3 || in.size() % 2 != 1)
    refuse(std::to_string(in.size()) + " operands",
           "the extent, then scores and deltas of each level are needed");
  const std::int64_t anchors = check_anchors(attrs, levels_of(in));
  for (std::size_t i = 1; i < in.size(); i += 2) {
    check_real_image(in[i], "the scores");
    const Shape& x = in[i].shape;
    check_same(in[i], blocked(in[1].shape[0], anchors, x[2], x[3], in[1]), "the scores");
    check_same(in[i + 1], blocked(x[0], 4 * anchors, x[2], x[3], in[1]), "the deltas");
  }
  check_extent(in[0], in[1]);
  for (const char* name : {"of_a_level", "keep"})
    if (attrs.integer(name) < 1 || attrs.integer(name) > 1 << 20)
      refuse(std::string(name) + " is " + std::to_string(attrs.integer(name)),
             "1 to 2^20 is needed");
  const std::int64_t images = in[1].shape[0];
  return {plain({images, attrs.integer("keep"), 4}, widened(in[1].dtype)),
          plain({images}, DType::i32)};
}

class ProposalsJob final : public Job {
 public:
  explicit ProposalsJob(const Call& call)
      : threshold_(call.attrs.real("threshold")),
        least_side_(call.attrs.real("least_side")),
        keep_(call.attrs.integer("keep")),
        images_(call.in[1].spec.shape[0]),
        is_double_(call.in[1].spec.dtype == DType::f64) {
    const auto levels = static_cast<std::int64_t>((call.in.size() - 1) / 2);
    for (std::int64_t l = 0; l < levels; ++l) {
      const Shape& x = call.in[static_cast<std::size_t>(1 + 2 * l)].spec.shape;
      levels_.push_back(anchor_level(call.attrs, l, levels, x[2], x[3]));
      of_level_.push_back(std::min(levels_.back().count(), call.attrs.integer("of_a_level")));
      most_of_level_ = std::max(most_of_level_, of_level_.back());
      most_ += of_level_.back();
    }
  }

  std::int64_t scratch() const override { return images_ * image_bytes(); }

  void run(const Args& args) noexcept override {
    for_element(args.in[1].spec.dtype, [&]<class Element>(Element) {
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < images_; ++n) image<Element>(args, n);
    });
  }

 private:
  // Candidates, the best of one level, the order of all, and those that stay.
  std::int64_t image_bytes() const {
    return round_up(most_ * (is_double_ ? 48 : 24) + most_of_level_ * (is_double_ ? 16 : 8) +
                        4 * most_ + 4 * keep_,
                    8);
  }

  template <class Element>
  void image(const Args& args, std::int64_t n) const noexcept {
    using T = Wide<Element>;
    using Candidate = boxes::Candidate<T>;
    auto* all = reinterpret_cast<Candidate*>(args.scratch + n * image_bytes());
    auto* best = reinterpret_cast<Ranked<T>*>(all + most_);
    auto* order = reinterpret_cast<std::int32_t*>(best + most_of_level_);
    std::int32_t* kept = order + most_;
    std::int64_t count = 0;
    for (std::size_t l = 0; l < levels_.size(); ++l)
      count = add_level<Element>(
          args, n, l, std::span(best, static_cast<std::size_t>(of_level_[l])), all, count);
    const auto found = static_cast<std::size_t>(count);
    const std::int64_t stay = boxes::suppress<T>(std::span<const Candidate>(all, found), threshold_,
                                                 std::span(order, found),
                                                 std::span(kept, static_cast<std::size_t>(keep_)));
    const std::span rows = rows_of<boxes::Box<T>, T>(args.out[0], n);
    for (std::int64_t i = 0; i < stay; ++i) rows[static_cast<std::size_t>(i)] = all[kept[i]].box;
    std::fill(rows.begin() + stay, rows.end(), boxes::Box<T>{});
    args.out[1].at<std::int32_t>(n) = static_cast<std::int32_t>(stay);
  }

  template <class Element, class T = Wide<Element>>
  std::int64_t add_level(const Args& args, std::int64_t n, std::size_t l, std::span<Ranked<T>> room,
                         boxes::Candidate<T>* all, std::int64_t count) const noexcept {
    const boxes::AnchorLevel& level = levels_[l];
    const std::int64_t cells = level.rows * level.columns;
    const std::int64_t anchors = std::ssize(level.shapes);
    const TensorView &scores = args.in[1 + 2 * l], &deltas = args.in[2 + 2 * l];
    const T* extent = args.in[0].image<T>(n);
    BestRanked<T> best(room);
    for (std::int64_t cell = 0; cell < cells; ++cell)
      for (std::int64_t a = 0; a < anchors; ++a)
        best.offer({scores.image<Element>(n)[blocked_at(scores.spec, a, cell)],
                    static_cast<std::int32_t>(cell * anchors + a)});
    for (const Ranked<T>& one : best.sort()) {
      const std::int64_t cell = one.index / anchors, a = one.index % anchors;
      const boxes::Box<T> box = boxes::clipped(
          boxes::Coder<T>{}.decode(level.box<T>(cell / level.columns, cell % level.columns, a),
                                   deltas_at<Element>(deltas, n, a, cell)),
          extent[0], extent[1]);
      const auto least = static_cast<T>(least_side_);
      if (box.width() >= least && box.height() >= least)
        all[count++] = {box, one.score, static_cast<T>(l)};
    }
    return count;
  }

  double threshold_, least_side_;
  std::int64_t keep_;
  std::int64_t images_;
  bool is_double_;
  std::vector<boxes::AnchorLevel> levels_;
  Ints of_level_;
  std::int64_t most_of_level_ = 0;
  std::int64_t most_ = 0;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<ProposalsJob>(call); }

Sample sample(std::int64_t images, const Ints& shapes, const std::vector<Ints>& cells,
              Attrs attrs) {
  attrs.set("shapes", shapes);
  Sample made{.in = {{plain({images, 2}), SampleInput::Fill::side, 60}}, .attrs = std::move(attrs)};
  const std::int64_t anchors = std::ssize(shapes) / 2 / std::ssize(cells);
  for (const Ints& level : cells) {
    made.in.push_back({blocked(images, anchors, level[0], level[1])});
    made.in.push_back({blocked(images, 4 * anchors, level[0], level[1])});
  }
  return made;
}

}  // namespace

extern const OpFamily proposals;
const OpFamily proposals{{
    {.name = "proposals",
     .doc = "Boxes of the highest scores of each level (of equals the first), decoded, clipped to "
            "the extent, without thin ones, suppressed within their level, the best of all by "
            "falling score; then how many. in: height and width of each picture, then scores and "
            "deltas of each level.",
     .attrs = with_anchors({{"of_a_level", std::int64_t{2000}, "anchors of each level, at most"},
                            {"keep", std::int64_t{2000}, "rows of each image"},
                            {"threshold", 0.7, "of IoU, for suppression"},
                            {"least_side", 1e-3, "boxes with a smaller side are left out"}}),
     .infer = infer,
     .cost = pass_over<40>,
     .kernels = {{"heap", make_job, kAnyElement}},
     .samples =
         {sample(2, {8, 8, 12, 6, 16, 16, 24, 12}, {{5, 4}, {3, 2}},
                 {{"strides", Ints{8, 8, 16, 16}},
                  {"of_a_level", std::int64_t{15}},
                  {"keep", std::int64_t{20}}}),
          sample(3, {9, 9, 7, 12, 12, 7}, {{4, 4}},
                 {{"strides", Ints{12, 12}}, {"threshold", 0.25}, {"keep", std::int64_t{60}}})}},
}};

}  // namespace plimsoll::ops
