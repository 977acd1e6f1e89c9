// How far the boxes of a level's positive anchors are from what they are to find, with the gradient
// from the same pass.
#include "boxes/giou.h"
#include "ops/detection.h"
#include "ops/distance.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 4, 4);
  check_real_image(in[0], "the deltas");
  const std::int64_t anchors = check_anchors(attrs, 1);
  check_coder(attrs);
  const Shape& x = in[0].shape;
  if (x[1] != 4 * anchors)
    refuse(std::to_string(x[1]) + " channels and " + std::to_string(anchors) + " anchors",
           "four channels for each anchor are needed");
  check_match(in[1], in[0], anchors);
  check_rows(in[2], 4, "the boxes");
  check_same_type(in[2], in[0], "the boxes");
  if (in[2].shape[0] != x[0])
    refuse("boxes of " + std::to_string(in[2].shape[0]) + " images",
           std::to_string(x[0]) + " are needed");
  check_vector(in[3], x[0], "the weights");
  check_same_type(in[3], in[0], "the weights");
  const std::string& kind = attrs.word("kind");
  if (kind != "l1" && kind != "smooth_l1" && kind != "giou")
    refuse("kind '" + kind + "'", "l1, smooth_l1 or giou is needed");
  if (!(attrs.real("beta") > 0))
    refuse("beta " + std::to_string(attrs.real("beta")), "more than 0 is needed");
  return {plain({1}, widened(in[0].dtype)), in[0]};
}

class BoxLossJob final : public Job {
 public:
  explicit BoxLossJob(const Call& call)
      : attrs_(call.attrs),
        level_(anchor_level(call.attrs, 0, 1, call.in[0].spec.shape[2], call.in[0].spec.shape[3])),
        giou_(call.attrs.word("kind") == "giou"),
        beta_(call.attrs.word("kind") == "smooth_l1" ? call.attrs.real("beta") : 0.0),
        sums_(call.in[0].spec.shape[0] * level_.rows) {}

  std::int64_t scratch() const override {
    return sums_ * static_cast<std::int64_t>(sizeof(double));
  }

  void run(const Args& args) noexcept override {
    for_element(args.in[0].spec.dtype, [&]<class Element>(Element) { sum<Element>(args); });
  }

 private:
  template <class Element>
  void sum(const Args& args) const noexcept {
    using T = Wide<Element>;
    auto* sums = reinterpret_cast<double*>(args.scratch);
#pragma omp parallel for schedule(static)
    for (std::int64_t task = 0; task < sums_; ++task)
      sums[task] = row<Element>(args, task / level_.rows, task % level_.rows);
    double total = 0;
    for (std::int64_t task = 0; task < sums_; ++task)
      total += static_cast<double>(args.in[3].at<T>(task / level_.rows)) * sums[task];
    args.out[0].at<T>(0) = static_cast<T>(total);
  }

  // One row of cells. A match that cannot be makes the sum NaN, which stops the step.
  template <class Element>
  double row(const Args& args, std::int64_t n, std::int64_t row) const noexcept {
    using T = Wide<Element>;
    const std::int64_t cells = level_.rows * level_.columns;
    const std::int64_t anchors = std::ssize(level_.shapes);
    const Spec& spec = args.in[0].spec;
    Element* to = args.out[1].image<Element>(n);
    const std::int32_t* match = args.in[1].image<std::int32_t>(n);
    const std::span boxes = rows_of<const boxes::Box<T>, T>(args.in[2], n);
    const T weight = args.in[3].at<T>(n);
    double loss = 0;
    for (std::int64_t column = 0; column < level_.columns; ++column) {
      const std::int64_t cell = row * level_.columns + column;
      for (std::int64_t a = 0; a < anchors; ++a) {
        const std::int32_t found = match[a * cells + cell];
        boxes::Deltas<T> slope{};
        if (found >= std::ssize(boxes))
          loss = std::nan("");
        else if (found >= 0)
          loss +=
              of_anchor(level_.box<T>(row, column, a), deltas_at<Element>(args.in[0], n, a, cell),
                        boxes[static_cast<std::size_t>(found)], slope);
        for (std::int64_t j = 0; j < 4; ++j)
          to[blocked_at(spec, 4 * a + j, cell)] = weight * slope[static_cast<std::size_t>(j)];
      }
      for (std::int64_t c = 4 * anchors; c < round_up(4 * anchors, spec.lanes); ++c)
        to[blocked_at(spec, c, cell)] = Element(0);
    }
    return loss;
  }

  template <class T>
  double of_anchor(const boxes::Box<T>& anchor, const boxes::Deltas<T>& deltas,
                   const boxes::Box<T>& box, boxes::Deltas<T>& slope) const noexcept {
    const boxes::Coder<T> coder = coder_of<T>(attrs_);
    if (giou_) {
      boxes::Box<T> by_corner;
      const T loss = boxes::giou_loss(coder.decode(anchor, deltas), box, by_corner);
      slope = coder.decode_slope(anchor, deltas, by_corner);
      return static_cast<double>(loss);
    }
    const boxes::Deltas<T> wanted = coder.encode(anchor, box);
    double loss = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const Distance off = distance(static_cast<double>(deltas[j] - wanted[j]), beta_);
      loss += off.loss;
      slope[j] = static_cast<T>(off.slope);
    }
    return loss;
  }

  Attrs attrs_;
  boxes::AnchorLevel level_;
  bool giou_;
  double beta_;
  std::int64_t sums_;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<BoxLossJob>(call); }

Sample sample(const Spec& x, std::int64_t boxes, const Ints& shapes, Attrs attrs) {
  const Shape& shape = x.shape;
  attrs.set("shapes", shapes);
  return {.in = {{x},
                 {plain({shape[0], shape[1] / 4, shape[2], shape[3]}, DType::i32),
                  SampleInput::Fill::match, boxes},
                 {plain({shape[0], boxes, 4}), SampleInput::Fill::box, 60},
                 {plain({shape[0]}), SampleInput::Fill::positive}},
          .attrs = std::move(attrs)};
}

}  // namespace

extern const OpFamily box_loss;
const OpFamily box_loss{{
    {.name = "box_loss",
     .doc = "Sum over images of weight times how far the deltas of positive anchors are from their "
            "boxes; the second output is its gradient by the deltas. Channel anchor * 4 + delta. "
            "in: deltas, matches of the level, boxes, weights of the images.",
     .attrs = with_anchors({{"kind", std::string("l1"), "l1, smooth_l1 or giou"},
                            {"beta", 1.0 / 9, "where smooth_l1 becomes a parabola"},
                            coder_schema()}),
     .infer = infer,
     .backward = scaled_gradient,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<4>,
     .kernels = {{"f64-sums", make_job, kAnyElement}},
     .samples = {sample(blocked(2, 12, 4, 5), 5, {8, 8, 12, 6, 6, 12}, {}),
                 sample(blocked(3, 8, 3, 3), 4, {8, 8, 16, 16},
                        {{"kind", std::string("smooth_l1")}, {"weights", Ints{10, 10, 5, 5}}}),
                 sample(blocked(2, 4, 6, 5), 7, {10, 7}, {{"kind", std::string("giou")}})}},
}};

}  // namespace plimsoll::ops
