// The sigmoid focal loss of a level's class scores, with its gradient from the same pass: nothing
// of anchors x classes is stored but the scores, which the gradient may overwrite.
#include "kernels/focal.h"

#include <cmath>

#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

// A positive of an op without labels is of the only class.
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 3, 4);
  check_real_image(in[0], "the scores");
  const Shape& x = in[0].shape;
  const std::int64_t classes = attrs.integer("classes");
  if (classes < 1 || x[1] % classes != 0)
    refuse(std::to_string(x[1]) + " channels and " + std::to_string(classes) + " classes",
           "as many channels as anchors times classes are needed");
  check_match(in[1], in[0], x[1] / classes);
  check_vector(in[2], x[0], "the weights");
  check_same_type(in[2], in[0], "the weights");
  if (in.size() < 4 && classes > 1)
    refuse("no labels", "labels are needed for more than one class");
  if (in.size() == 4 && (in[3].dtype != DType::i32 || in[3].layout != Layout::plain ||
                         in[3].shape.rank() != 2 || in[3].shape[0] != x[0]))
    refuse("the labels are " + to_string(in[3]), "i32, one row for each image, is needed");
  const double alpha = attrs.real("alpha"), gamma = attrs.real("gamma");
  if (!(alpha <= 1 && gamma >= 0 && gamma <= 100))
    refuse("alpha " + std::to_string(alpha) + " and gamma " + std::to_string(gamma),
           "alpha of at most 1 and gamma of 0 to 100 are needed");
  return {plain({1}, widened(in[0].dtype)), in[0]};
}

// The loss of one score and its slope. Only exp of what is not positive is taken, so nothing
// overflows, and neither p nor 1 - p is found by subtraction.
struct Focal {
  explicit Focal(const Attrs& attrs) : gamma(attrs.real("gamma")) {
    const double alpha = attrs.real("alpha");
    positive = alpha < 0 ? 1 : alpha;
    negative = alpha < 0 ? 1 : 1 - alpha;
  }
  double power(double base) const {
    return gamma == 2 ? base * base : gamma == 0 ? 1.0 : std::pow(base, gamma);
  }
  // Adds to `loss`.
  double slope(double x, bool is_positive, double& loss) const {
    // The other target is the same with the sign of x turned.
    const double z = is_positive ? x : -x;
    const double small = std::exp(-std::fabs(z));
    const double p = (z >= 0 ? 1.0 : small) / (1 + small);  // of the target
    const double q = (z >= 0 ? small : 1.0) / (1 + small);
    const double log_p = (z >= 0 ? 0.0 : z) - std::log1p(small);
    const double weight = (is_positive ? positive : negative) * power(q);
    loss -= weight * log_p;
    const double by_z = weight * (gamma * p * log_p - q);
    return is_positive ? by_z : -by_z;
  }
  double gamma, positive, negative;
};

// By vectors, or one score after the other in f64.
enum class By : std::uint8_t { vector, score };

template <By by>
class FocalJob final : public Job {
 public:
  explicit FocalJob(const Call& call)
      : focal_(call.attrs),
        classes_(call.attrs.integer("classes")),
        sums_(call.in[0].spec.shape[0] * call.in[0].spec.blocks()) {}

  std::int64_t scratch() const override {
    return sums_ * static_cast<std::int64_t>(sizeof(double));
  }

  void run(const Args& args) noexcept override {
    for_element(args.in[0].spec.dtype, [&]<class T>(T) { sum<T>(args); });
  }

 private:
  template <class T>
  void sum(const Args& args) const noexcept {
    const Shape& shape = args.in[0].spec.shape;
    const std::int64_t blocks = args.in[0].spec.blocks();
    auto* sums = reinterpret_cast<double*>(args.scratch);
#pragma omp parallel for schedule(static)
    for (std::int64_t task = 0; task < sums_; ++task) {
      const std::int64_t n = task / blocks;
      const std::int64_t b = task % blocks;
      if constexpr (by == By::score)
        sums[task] = scores<T>(args, n, b);
      else if constexpr (!std::is_same_v<T, double>)
        sums[task] = vectors<T>(args, n, b);
    }
    double total = 0;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      double image = 0;
      for (std::int64_t b = 0; b < blocks; ++b) image += sums[n * blocks + b];
      total += static_cast<double>(args.in[2].at<Wide<T>>(n)) * image;
    }
    args.out[0].at<Wide<T>>(0) = static_cast<Wide<T>>(total);
  }

  template <class T>
  double vectors(const Args& args, std::int64_t n, std::int64_t b) const noexcept {
    const TensorView& x = args.in[0];
    const Shape& shape = x.spec.shape;
    const std::int64_t cells = shape[2] * shape[3], lanes = x.spec.lanes;
    const bool labelled = args.in.size() > 3;
    const kernels::FocalRule rule{.focuses = focal_.gamma == 2,
                                  .positive = static_cast<float>(focal_.positive),
                                  .negative = static_cast<float>(focal_.negative)};
    return kernels::focal_loss(
        rule,
        kernels::FocalBlock<T>{.lanes = lanes,
                               .x = x.image<T>(n) + b * cells * lanes,
                               .slopes = args.out[1].image<T>(n) + b * cells * lanes,
                               .cells = cells,
                               .first_channel = b * lanes,
                               .channels = shape[1],
                               .classes = classes_,
                               .match = args.in[1].image<std::int32_t>(n),
                               .labels = labelled ? args.in[3].image<std::int32_t>(n) : nullptr,
                               .boxes = labelled ? args.in[3].spec.shape[1] : 0,
                               .weight = args.in[2].at<float>(n)});
  }

  // A block of channels of an image. A match or label that cannot be makes the sum NaN: the step is
  // then refused, never silently wrong.
  template <class T>
  double scores(const Args& args, std::int64_t n, std::int64_t b) const noexcept {
    const TensorView &x = args.in[0], &match = args.in[1];
    const Shape& shape = x.spec.shape;
    const std::int64_t cells = shape[2] * shape[3], lanes = x.spec.lanes;
    const T* from = x.image<T>(n) + b * cells * lanes;
    T* to = args.out[1].image<T>(n) + b * cells * lanes;
    const auto weight = static_cast<double>(args.in[2].at<Wide<T>>(n));
    const bool labelled = args.in.size() > 3;
    const std::int64_t boxes = labelled ? args.in[3].spec.shape[1] : INT32_MAX;
    double loss = 0;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::int64_t channel = b * lanes + lane;
      if (channel >= shape[1]) {
        for (std::int64_t i = 0; i < cells; ++i) to[i * lanes + lane] = T(0);
        continue;
      }
      const std::int64_t own = channel % classes_;
      const std::int32_t* found = match.image<std::int32_t>(n) + channel / classes_ * cells;
      for (std::int64_t i = 0; i < cells; ++i) {
        T& slope = to[i * lanes + lane];
        if (found[i] < -1) {
          slope = T(0);
          continue;
        }
        bool is_positive = false;
        if (found[i] >= 0) {
          const std::int64_t label = !labelled          ? 0
                                     : found[i] < boxes ? args.in[3].at<std::int32_t>(n, found[i])
                                                        : -1;
          if (label < 0 || label >= classes_) loss = std::nan("");
          is_positive = label == own;
        }
        slope = static_cast<T>(
            weight * focal_.slope(static_cast<double>(from[i * lanes + lane]), is_positive, loss));
      }
    }
    return loss;
  }

  Focal focal_;
  std::int64_t classes_;
  std::int64_t sums_;
};

std::unique_ptr<Job> by_vectors(const Call& call) {
  const double gamma = call.attrs.real("gamma");
  if (gamma != 0 && gamma != 2) return nullptr;
  return std::make_unique<FocalJob<By::vector>>(call);
}
std::unique_ptr<Job> by_scores(const Call& call) {
  return std::make_unique<FocalJob<By::score>>(call);
}

Sample sample(const Spec& x, std::int64_t classes, std::int64_t boxes, Attrs attrs) {
  const Shape& shape = x.shape;
  attrs.set("classes", classes);
  Sample made{.in = {{x},
                     {plain({shape[0], shape[1] / classes, shape[2], shape[3]}, DType::i32),
                      SampleInput::Fill::match, boxes},
                     {plain({shape[0]}), SampleInput::Fill::positive}},
              .attrs = std::move(attrs)};
  if (classes > 1)
    made.in.push_back({plain({shape[0], boxes}, DType::i32), SampleInput::Fill::label, classes});
  return made;
}

}  // namespace

extern const OpFamily focal_loss;
const OpFamily focal_loss{{
    {.name = "focal_loss",
     .doc = "Sum over images of weight times the sigmoid focal loss of all scores that count; the "
            "second output is its gradient by the scores. Channel anchor * classes + class. in: "
            "scores, matches of the level, weights of the images, [labels of the boxes].",
     .attrs = {{"classes", std::int64_t{1}, "of each anchor"},
               {"alpha", 0.25, "weight of positives, 1 - alpha that of others; below 0: none"},
               {"gamma", 2.0, "how much scores that are right already count less"}},
     .infer = infer,
     .backward = scaled_gradient,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<20>,
     .kernels = {{"simd", by_vectors, kShort}, {"ref", by_scores, kAnyElement}},
     .samples = {sample(blocked(2, 15, 4, 3), 5, 6, {}),
                 sample(blocked(1, 91 * 3, 7, 5), 91, 9, {}),
                 sample(blocked(3, 3, 5, 5), 1, 4, {{"alpha", -1.0}, {"gamma", 0.0}}),
                 sample(blocked(1, 16, 3, 7), 4, 3, {{"alpha", 0.4}, {"gamma", 1.5}})}},
}};

}  // namespace plimsoll::ops
