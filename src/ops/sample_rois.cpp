// What the second stage of a detector is trained on: some of the proposals and of the boxes
// themselves, drawn at random, with what each is and where its box lies from it.
#include "boxes/matching.h"
#include "ops/detection.h"
#include "ops/lots.h"

namespace plimsoll::ops {
namespace {

enum In : std::size_t { kRois, kRoiCounts, kBoxes, kLabels, kBoxCounts, kPosition, kInputs };

enum class Kept : std::uint8_t {
  drawn,  // proposals and boxes, those that were drawn
  all,    // every proposal in its place; what was not drawn weighs nothing
};

template <Kept kept>
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, kInputs, kInputs);
  check_rows(in[kRois], 4, "the proposals");
  const std::int64_t images = in[kRois].shape[0];
  const DType dtype = in[kRois].dtype;
  check_counts(in[kRoiCounts], images, "the numbers of proposals");
  check_rows(in[kBoxes], 4, "the boxes");
  check_same(in[kBoxes], plain({images, in[kBoxes].shape[1], 4}, dtype), "the boxes");
  check_same(in[kLabels], plain({images, in[kBoxes].shape[1]}, DType::i32), "the labels");
  check_counts(in[kBoxCounts], images, "the numbers of boxes");
  check_run_position(in[kPosition]);
  check_draw(attrs);
  check_coder(attrs);
  const double positive = attrs.real("positive");
  if (!(positive > 0 && positive <= 1))
    refuse("positive is " + std::to_string(positive), "an IoU above 0 is needed");
  const std::int64_t slots =
      images * (kept == Kept::drawn ? attrs.integer("number") : in[kRois].shape[1]);
  return {plain({slots, 4}, dtype), plain({slots}, DType::i32), plain({slots, 4}, dtype),
          plain({slots}, dtype)};
}

template <Kept kept>
class SampleRoisJob final : public Job {
 public:
  explicit SampleRoisJob(const Call& call)
      : draw_(call.attrs),
        attrs_(call.attrs),
        rule_{.positive = call.attrs.real("positive"),
              .negative = call.attrs.real("positive"),
              .low_quality = false},
        images_(call.in[kRois].spec.shape[0]),
        candidates_(call.in[kRois].spec.shape[1] + call.in[kBoxes].spec.shape[1]),
        slots_(call.out[0].spec.shape[0] / images_) {}

  std::int64_t scratch() const override { return images_ * (image_bytes() + 8); }

  void run(const Args& args) noexcept override {
    for_real(args.in[kRois].spec.dtype, [&]<class T>(T) {
      auto* used = reinterpret_cast<std::int64_t*>(args.scratch + images_ * image_bytes());
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < images_; ++n) used[n] = image<T>(args, n);
      std::int64_t total = 0;
      for (std::int64_t n = 0; n < images_; ++n) total += used[n];
      // A mean over all slots is then one over those that are used.
      const double weight =
          total == 0 ? 0 : static_cast<double>(images_ * slots_) / static_cast<double>(total);
      for (std::int64_t slot = 0; slot < images_ * slots_; ++slot)
        if (args.out[3].at<T>(slot) > 0) args.out[3].at<T>(slot) = static_cast<T>(weight);
    });
  }

 private:
  // Lots, and what each candidate is to find.
  std::int64_t image_bytes() const {
    return (draw_.most_positive + draw_.number) * static_cast<std::int64_t>(sizeof(boxes::Lot)) +
           round_up(4 * candidates_, 8);
  }

  template <class T>
  std::int64_t image(const Args& args, std::int64_t n) const noexcept {
    const auto rois = boxes_of<T>(args.in[kRois], args.in[kRoiCounts], n);
    const auto boxes = boxes_of<T>(args.in[kBoxes], args.in[kBoxCounts], n);
    const auto candidate = [&](std::int64_t i) {
      return i < std::ssize(rois) ? rois[static_cast<std::size_t>(i)]
                                  : boxes[static_cast<std::size_t>(i - std::ssize(rois))];
    };
    auto* lots = reinterpret_cast<boxes::Lot*>(args.scratch + n * image_bytes());
    auto* codes = reinterpret_cast<std::int32_t*>(lots + draw_.most_positive + draw_.number);
    boxes::SmallestLots positive({lots, static_cast<std::size_t>(draw_.most_positive)});
    boxes::SmallestLots negative(
        {lots + draw_.most_positive, static_cast<std::size_t>(draw_.number)});
    const Run run(args.in[kPosition], draw_.key, n);
    const std::int64_t count =
        std::ssize(rois) + (kept == Kept::drawn ? std::ssize(boxes) : std::int64_t{0});
    for (std::int64_t i = 0; i < count; ++i) {
      codes[i] = boxes::match_one<T>(candidate(i), boxes, rule_);
      (codes[i] >= 0 ? positive : negative).offer(run.lot(i));
    }
    positive.settle(draw_.most_positive);
    negative.settle(draw_.number - positive.count());
    std::int64_t slot = n * slots_;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_drawn = (codes[i] >= 0 ? positive : negative).has(run.lot(i));
      if (kept == Kept::drawn && !is_drawn) continue;
      if (codes[i] >= 0) {
        const auto box = static_cast<std::size_t>(codes[i]);
        put<T>(args, slot++, candidate(i), args.in[kLabels].at<std::int32_t>(n, codes[i]) + 1,
               coder_of<T>(attrs_).encode(candidate(i), boxes[box]), is_drawn);
      } else {
        put<T>(args, slot++, candidate(i), 0, {}, is_drawn);
      }
    }
    while (slot < (n + 1) * slots_) put<T>(args, slot++, {}, 0, {}, false);
    return positive.count() + negative.count();
  }

  // What is drawn weighs 1 until all images are counted.
  template <class T>
  static void put(const Args& args, std::int64_t slot, const boxes::Box<T>& roi, std::int32_t label,
                  const boxes::Deltas<T>& target, bool is_drawn) noexcept {
    const T corners[] = {roi.x0, roi.y0, roi.x1, roi.y1};
    std::copy_n(corners, 4, args.out[0].image<T>(slot));
    args.out[1].at<std::int32_t>(slot) = label;
    std::copy_n(target.data(), 4, args.out[2].image<T>(slot));
    args.out[3].at<T>(slot) = is_drawn ? T(1) : T(0);
  }

  Draw draw_;
  Attrs attrs_;
  boxes::MatchRule rule_;
  std::int64_t images_;
  std::int64_t candidates_;
  std::int64_t slots_;  // of an image
};

template <Kept kept>
std::unique_ptr<Job> make_job(const Call& call) {
  return std::make_unique<SampleRoisJob<kept>>(call);
}

std::vector<AttrSchema> schema() {
  std::vector<AttrSchema> attrs = draw_schema(512, 0.25);
  attrs.push_back({"positive", 0.5, "a candidate with an IoU of at least this finds the box"});
  attrs.push_back({"weights", Ints{10, 10, 5, 5}, "what dx, dy, dw and dh are multiplied by"});
  return attrs;
}

Sample sample(std::int64_t images, std::int64_t rois, std::int64_t boxes, Attrs attrs) {
  using Fill = SampleInput::Fill;
  return {.in = {{plain({images, rois, 4}), Fill::box, 40},
                 {plain({images}, DType::i32), Fill::label, rois + 1},
                 {plain({images, boxes, 4}), Fill::box, 40},
                 {plain({images, boxes}, DType::i32), Fill::label, 7},
                 {plain({images}, DType::i32), Fill::label, boxes + 1},
                 {plain({2}, DType::i64), Fill::count}},
          .attrs = std::move(attrs)};
}

}  // namespace

extern const OpFamily sample_rois;
const OpFamily sample_rois{{
    {.name = "sample_rois",
     .doc = "Proposals, and the boxes themselves behind them, drawn at random, in their order: for "
            "each of `number` slots an image the box, its label (0: nothing, else class + 1), what "
            "is to be said of it, and its weight, slots / used, 0 where unused. in: proposals, "
            "their numbers, boxes, labels, their numbers, the first sample's position and the "
            "seed.",
     .attrs = schema(),
     .infer = infer<Kept::drawn>,
     .cost = pass_over<100>,
     .kernels = {{"lots", make_job<Kept::drawn>, kAnyReal}},
     .samples = {sample(2, 30, 6, {{"number", std::int64_t{12}}}),
                 sample(3, 9, 4, {{"number", std::int64_t{16}}, {"positive_share", 0.5}}),
                 sample(1, 50, 10, {{"number", std::int64_t{24}}, {"weights", Ints{1, 1, 1, 1}}})}},
    {.name = "label_rois",
     .doc = "All proposals in their places, as sample_rois tells those it draws, which here are of "
            "the proposals alone: those not drawn weigh 0. For a loss of what is found without the "
            "truth. in: as sample_rois.",
     .attrs = schema(),
     .infer = infer<Kept::all>,
     .cost = pass_over<100>,
     .kernels = {{"lots", make_job<Kept::all>, kAnyReal}},
     .samples = {sample(2, 30, 6, {{"number", std::int64_t{12}}}),
                 sample(3, 9, 4, {{"number", std::int64_t{16}}, {"positive_share", 0.5}})}},
}};

}  // namespace plimsoll::ops
