// A few of the anchors that were matched, drawn at random: those whose lots are the smallest. The
// others do not count.
#include "boxes/matching.h"
#include "ops/detection.h"
#include "ops/lots.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  if (in.size() < 3) check_count(in, 3, 3);
  check_real(in[0], "the weights");
  check_vector(in[0], in[0].shape[0], "the weights");
  check_run_position(in[1]);
  Specs out;
  for (const Spec& match : in.subspan(2)) {
    if (match.dtype != DType::i32 || match.layout != Layout::plain || match.shape.rank() != 4 ||
        match.shape[0] != in[0].shape[0])
      refuse("the matches are " + to_string(match),
             "i32 [images, anchors, rows, columns] is needed");
    out.push_back(match);
  }
  check_draw(attrs);
  out.push_back(in[0]);
  return out;
}

class SampleJob final : public Job {
 public:
  explicit SampleJob(const Call& call) : draw_(call.attrs), images_(call.in[0].spec.shape[0]) {}

  std::int64_t scratch() const override {
    return images_ * (image_lots() * static_cast<std::int64_t>(sizeof(boxes::Lot)) + 8);
  }

  void run(const Args& args) noexcept override {
    auto* drawn = reinterpret_cast<std::int64_t*>(
        args.scratch + images_ * image_lots() * static_cast<std::int64_t>(sizeof(boxes::Lot)));
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < images_; ++n) drawn[n] = image(args, n);
    std::int64_t total = 0;
    for (std::int64_t n = 0; n < images_; ++n) total += drawn[n];
    const TensorView& weights = args.out.back();
    for_real(weights.spec.dtype, [&]<class T>(T) {
      for (std::int64_t n = 0; n < images_; ++n)
        weights.at<T>(n) =
            static_cast<T>(1.0 / static_cast<double>(std::max<std::int64_t>(1, total)));
    });
  }

 private:
  // Positives and others are drawn apart.
  std::int64_t image_lots() const { return draw_.most_positive + draw_.number; }

  // body(index, code in, code out) for every anchor: levels in order, then cells, then anchors.
  template <class Body>
  static void over_anchors(const Args& args, std::int64_t n, Body body) {
    std::int64_t index = 0;
    for (std::size_t l = 2; l < args.in.size(); ++l) {
      const std::int32_t* from = args.in[l].image<std::int32_t>(n);
      std::int32_t* to = args.out[l - 2].image<std::int32_t>(n);
      const Shape& shape = args.in[l].spec.shape;
      const std::int64_t cells = shape[2] * shape[3];
      for (std::int64_t cell = 0; cell < cells; ++cell)
        for (std::int64_t a = 0; a < shape[1]; ++a)
          body(index++, from[a * cells + cell], to[a * cells + cell]);
    }
  }

  std::int64_t image(const Args& args, std::int64_t n) const noexcept {
    const Run run(args.in[1], draw_.key, n);
    boxes::Lot* lots = reinterpret_cast<boxes::Lot*>(args.scratch) + n * image_lots();
    boxes::SmallestLots positive({lots, static_cast<std::size_t>(draw_.most_positive)});
    boxes::SmallestLots negative(
        {lots + draw_.most_positive, static_cast<std::size_t>(draw_.number)});
    over_anchors(args, n, [&](std::int64_t index, std::int32_t code, std::int32_t&) {
      if (code >= 0)
        positive.offer(run.lot(index));
      else if (code == boxes::kNegative)
        negative.offer(run.lot(index));
    });
    positive.settle(draw_.most_positive);
    negative.settle(draw_.number - positive.count());
    over_anchors(args, n, [&](std::int64_t index, std::int32_t code, std::int32_t& to) {
      const bool is_drawn = code >= 0 ? positive.has(run.lot(index))
                                      : code == boxes::kNegative && negative.has(run.lot(index));
      to = is_drawn ? code : boxes::kIgnored;
    });
    return positive.count() + negative.count();
  }

  Draw draw_;
  std::int64_t images_;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<SampleJob>(call); }

Sample sample(std::int64_t images, const std::vector<Shape>& matches, Attrs attrs) {
  Sample made{.in = {{plain({images}), SampleInput::Fill::positive},
                     {plain({2}, DType::i64), SampleInput::Fill::count}},
              .attrs = std::move(attrs)};
  for (const Shape& shape : matches)
    made.in.push_back({{.dtype = DType::i32, .shape = shape}, SampleInput::Fill::match, 3});
  return made;
}

}  // namespace

extern const OpFamily sample_matches;
const OpFamily sample_matches{{
    {.name = "sample_matches",
     .doc = "Matches of all levels with those not drawn set to -2, and for each image 1 / (anchors "
            "drawn in the batch). in: weights of the images, the first sample's position and the "
            "seed, the matches of each level.",
     .attrs = draw_schema(256, 0.5),
     .infer = infer,
     .in_place = {{.out = 0, .over = 2},
                  {.out = 1, .over = 3},
                  {.out = 2, .over = 4},
                  {.out = 3, .over = 5},
                  {.out = 4, .over = 6}},
     .cost = pass_over<40>,
     .kernels = {{"lots", make_job, kAnyReal}},
     .samples = {sample(2, {{2, 3, 4, 5}}, {{"number", std::int64_t{16}}}),
                 sample(3, {{3, 2, 5, 4}, {3, 2, 3, 2}},
                        {{"number", std::int64_t{20}}, {"positive_share", 0.25}}),
                 sample(1, {{1, 3, 2, 2}}, {{"number", std::int64_t{256}}})}},
}};

}  // namespace plimsoll::ops
