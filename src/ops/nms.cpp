// Suppression of what tells of one thing twice, over the candidates of all levels.
#include "boxes/nms.h"

#include "ops/detection.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  if (in.size() < 2 || in.size() % 2 != 0)
    refuse(std::to_string(in.size()) + " operands", "candidates and their numbers are needed");
  for (std::size_t i = 0; i < in.size(); i += 2) {
    check_rows(in[i], 6, "the candidates");
    check_same_type(in[i], in[0], "the candidates");
    check_counts(in[i + 1], in[0].shape[0], "the numbers of candidates");
    if (in[i].shape[0] != in[0].shape[0])
      refuse("candidates of " + std::to_string(in[i].shape[0]) + " images",
             std::to_string(in[0].shape[0]) + " are needed");
  }
  const std::string& within = attrs.word("within");
  if (within != "class" && within != "level")
    refuse("within each '" + within + "'", "class or level is needed");
  const std::int64_t keep = attrs.integer("keep");
  if (keep < 1 || keep > 1 << 20) refuse("keep " + std::to_string(keep), "1 to 2^20 is needed");
  return {plain({in[0].shape[0], keep, 6}, in[0].dtype), plain({in[0].shape[0]}, DType::i32)};
}

class NmsJob final : public Job {
 public:
  explicit NmsJob(const Call& call)
      : threshold_(call.attrs.real("threshold")),
        by_level_(call.attrs.word("within") == "level"),
        keep_(call.attrs.integer("keep")),
        images_(call.in[0].spec.shape[0]),
        is_double_(call.in[0].spec.dtype == DType::f64) {
    for (std::size_t i = 0; i < call.in.size(); i += 2) most_ += call.in[i].spec.shape[1];
  }

  std::int64_t scratch() const override { return images_ * image_bytes(); }

  void run(const Args& args) noexcept override {
    for_real(args.in[0].spec.dtype, [&]<class T>(T) {
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < images_; ++n) image<T>(args, n);
    });
  }

 private:
  // Candidates, their order, and those that stay.
  std::int64_t image_bytes() const {
    return round_up(most_ * (is_double_ ? 48 : 24) + 4 * most_ + 4 * keep_, 8);
  }

  template <class T>
  void image(const Args& args, std::int64_t n) const noexcept {
    using Candidate = boxes::Candidate<T>;
    auto* all = reinterpret_cast<Candidate*>(args.scratch + n * image_bytes());
    auto* order = reinterpret_cast<std::int32_t*>(all + most_);
    std::int32_t* kept = order + most_;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < args.in.size(); i += 2) {
      const auto rows = rows_of<const Candidate, T>(args.in[i], n)
                            .first(static_cast<std::size_t>(
                                count_at(args.in[i + 1], n, args.in[i].spec.shape[1])));
      for (Candidate one : rows) {
        if (by_level_) one.group = static_cast<T>(static_cast<std::int64_t>(i / 2));
        all[count++] = one;
      }
    }
    const auto found = static_cast<std::size_t>(count);
    const std::int64_t stay = boxes::suppress<T>(std::span<const Candidate>(all, found), threshold_,
                                                 std::span(order, found),
                                                 std::span(kept, static_cast<std::size_t>(keep_)));
    const std::span rows = rows_of<Candidate, T>(args.out[0], n);
    for (std::int64_t i = 0; i < stay; ++i) rows[static_cast<std::size_t>(i)] = all[kept[i]];
    std::fill(rows.begin() + stay, rows.end(), Candidate{});
    args.out[1].at<std::int32_t>(n) = static_cast<std::int32_t>(stay);
  }

  double threshold_;
  bool by_level_;
  std::int64_t keep_;
  std::int64_t images_;
  std::int64_t most_ = 0;
  bool is_double_;
};

std::unique_ptr<Job> make_job(const Call& call) { return std::make_unique<NmsJob>(call); }

Sample sample(std::int64_t images, const Ints& candidates, Attrs attrs) {
  Sample made{.in = {}, .attrs = std::move(attrs)};
  for (const std::int64_t count : candidates) {
    made.in.push_back({plain({images, count, 6}), SampleInput::Fill::candidate, 30});
    made.in.push_back({plain({images}, DType::i32), SampleInput::Fill::label, count + 1});
  }
  return made;
}

}  // namespace

extern const OpFamily nms;
const OpFamily nms{{
    {.name = "nms",
     .doc = "Of candidates (rows of a box, score and group) those that stay: by falling score, of "
            "equals the first, each unless its IoU with one of its group that stays is > "
            "threshold; then how many. in: candidates and their numbers, of each level.",
     .attrs = {{"threshold", 0.5, "of IoU"},
               {"within", std::string("class"), "class or level: what suppresses each other"},
               {"keep", std::int64_t{300}, "rows of each image"}},
     .infer = infer,
     .cost = pass_over<20>,
     .kernels = {{"greedy", make_job, kAnyReal}},
     .samples = {sample(3, {20}, {{"keep", std::int64_t{30}}}),
                 sample(2, {15, 9, 4},
                        {{"keep", std::int64_t{12}},
                         {"within", std::string("level")},
                         {"threshold", 0.25}}),
                 sample(1, {40, 30}, {{"keep", std::int64_t{70}}, {"threshold", 0.125}})}},
}};

}  // namespace plimsoll::ops
