// What the layers of a network cost in a step, pass by pass.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "step/trainer.h"

namespace plimsoll::cli {

// One pass of a layer's arithmetic: a convolution's output, its input's gradient, its weights'.
struct PassTime {
  double seconds = 0;
  double flops = 0;
  std::string kernels;  // those that ran
};

struct LayerTime {
  std::string layer;  // with the size of its images where it is called several times
  // By Arithmetic, without `none`.
  std::array<PassTime, 3> passes;
  double other = 0;  // seconds of what is no such arithmetic
  double again = 0;  // seconds of either, a second time
};

struct StepTimes {
  std::vector<LayerTime> layers;
  double convolution = 0, batch_norm = 0, rest = 0;  // seconds; convolutions and dense layers
};

// Runs one step instruction by instruction, with a clock between.
StepTimes measure_layers(Trainer& trainer);

// Rates are also told as a share of `peak_gflops`, what the processor can do at most.
void print_layers(const StepTimes& times, double peak_gflops);

}  // namespace plimsoll::cli
