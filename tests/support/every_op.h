// Tests that run once for every op of the table, named after it.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "ops/table.h"
#include "tests/support/op_run.h"

namespace plimsoll {

// The samples of an op, then those that have images once more with those in bf16, then all that
// have blocks once more with blocks of 16 channels.
inline std::vector<Sample> every_sample(const OpDef& op) {
  std::vector<Sample> samples = op.samples;
  for (const Sample& sample : op.samples)
    if (const auto shorter = shortened(op, sample)) samples.push_back(*shorter);
  const std::vector<Sample> narrow = samples;
  for (const Sample& sample : narrow)
    if (const auto wide = with_wide_blocks(op, sample)) samples.push_back(*wide);
  return samples;
}

// Calls body(sample, kernel) for every sample of the op and every kernel, saying which in failures.
template <class Body>
void for_each_kernel(const OpDef& op, Body body) {
  const std::vector<Sample> samples = every_sample(op);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::string text;
    for (const SampleInput& input : samples[s].in) text += " " + to_string(input.spec);
    for (const auto& [name, value] : samples[s].attrs.entries())
      text += " " + name + "=" + to_string(value);
    for (const Kernel& kernel : op.kernels) {
      SCOPED_TRACE("kernel " + std::string(kernel.name) + ", sample " + std::to_string(s) + ":" +
                   text);
      body(samples[s], kernel);
    }
  }
}

// Failures name the op, not the address of its definition.
inline void PrintTo(const OpDef* op, std::ostream* out) { *out << op->name; }

inline std::string name_of_op(const testing::TestParamInfo<const OpDef*>& info) {
  return info.param->name;
}

class EveryOp : public testing::TestWithParam<const OpDef*> {
 protected:
  const OpDef& op() const { return *GetParam(); }
};

}  // namespace plimsoll
