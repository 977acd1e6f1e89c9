// The learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

// "name" or "name:key=value,key=value". Lengths are in steps, or in epochs with an e ("30e").
//   constant
//   step         every=N [factor=0.1]
//   exponential  every=N rate=R [staircase=1]          Keras's ExponentialDecay
//   poly         [power=1] [end=0]                     Keras's PolynomialDecay
//   cosine       [end=0] [first=N times=2 scale=1]     Keras's CosineDecay; first: with restarts
//   one-cycle    [rise=0.3] [start=25] [final=1e4]     PyTorch's OneCycleLR
//   piecewise    N=RATE,N=RATE...                      from step N on; Keras's boundary is N - 1
//   plateau      [factor=0.1] [patience=10] [delta=1e-4] [least=0]   Keras's ReduceLROnPlateau
struct ScheduleOptions {
  std::string name = "constant";
  std::int64_t warmup = 0;  // steps over which the rate climbs from 0
};

// Immutable: the rate of a step depends on the step alone, so a resumed run goes on as it would
// have. A plateau's part is a factor that the run keeps; see PlateauRule.
class RateSchedule {
 public:
  // `peak` is the rate after warm-up, `steps` the length of the run. UsageError for what makes no
  // sense.
  RateSchedule(const ScheduleOptions& options, double peak, std::int64_t steps,
               std::int64_t steps_per_epoch = 1);

  // The rate of the step that comes after `step` others.
  double rate(std::int64_t step) const;
  bool is_plateau() const { return kind_ == Kind::plateau; }

  struct PlateauRule {
    double factor = 0.1;
    std::int64_t patience = 10;  // epochs
    double delta = 1e-4;
    double least = 0;
  };
  const PlateauRule& plateau() const { return plateau_; }

 private:
  enum class Kind : std::uint8_t {
    constant,
    step,
    exponential,
    poly,
    cosine,
    one_cycle,
    piecewise,
    plateau
  };
  double decayed(std::int64_t step) const;  // after warm-up, counted from its end
  double restarted(double step) const;

  Kind kind_ = Kind::constant;
  double peak_;
  std::int64_t warmup_;
  std::int64_t steps_;      // of decay: the run without warm-up
  double every_ = 1;        // step, exponential
  double factor_ = 1;       // step, exponential
  bool staircase_ = false;  // exponential
  double power_ = 1;        // poly
  double end_ = 0;          // poly: a rate; cosine: a share of the peak
  double first_ = 0;        // cosine: steps before the first restart; 0: none
  double times_ = 2;
  double scale_ = 1;
  double rise_ = 0.3, start_ = 25, final_ = 1e4;         // one-cycle
  std::vector<std::pair<std::int64_t, double>> pieces_;  // piecewise: from step, rate
  PlateauRule plateau_;
};

}  // namespace plimsoll
