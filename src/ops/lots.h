// Random draws of ops of detectors: how many, and by which key.
#pragma once

#include "boxes/sampling.h"
#include "ops/rules.h"

namespace plimsoll::ops {

inline std::vector<AttrSchema> draw_schema(std::int64_t number, double positive_share) {
  return {{"number", number, "drawn of each image, at most"},
          {"positive_share", positive_share, "of them positive, at most, rounded down"},
          {"key", std::int64_t{0}, "of the random numbers, together with the seed"}};
}

inline void check_draw(const Attrs& attrs) {
  const std::int64_t number = attrs.integer("number");
  const double share = attrs.real("positive_share");
  if (number < 1 || number > 1 << 20 || !(share >= 0 && share <= 1))
    refuse("a draw of " + std::to_string(number) + ", " + std::to_string(share) + " of it positive",
           "1 to 2^20 and a share of 0 to 1 are needed");
}

inline void check_run_position(const Spec& spec) {
  check_vector(spec, 2, "the first sample's position and the seed");
  if (spec.dtype != DType::i64)
    refuse("the first sample's position and the seed are " + to_string(spec), "i64 is needed");
}

struct Draw {
  explicit Draw(const Attrs& attrs)
      : number(attrs.integer("number")),
        most_positive(
            static_cast<std::int64_t>(static_cast<double>(number) * attrs.real("positive_share"))),
        key(static_cast<std::uint64_t>(attrs.integer("key"))) {}
  std::int64_t number, most_positive;
  std::uint64_t key;
};

// The lots of one sample of the run.
class Run {
 public:
  // `position` holds the first sample's position and the seed; `n` counts from that sample.
  Run(const TensorView& position, std::uint64_t key, std::int64_t n)
      : key_(key ^ static_cast<std::uint64_t>(position.at<std::int64_t>(1))),
        sample_(position.at<std::int64_t>(0) + n) {}
  boxes::Lot lot(std::int64_t index) const { return boxes::lot_of(key_, sample_, index); }

 private:
  std::uint64_t key_;
  std::int64_t sample_;
};

}  // namespace plimsoll::ops
