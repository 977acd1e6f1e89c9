// Tests that run once for every op of the table, named after it.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "ops/table.h"
#include "tests/support/op_run.h"

namespace plimsoll {

// Calls body(sample, kernel) for every sample of the op and every kernel, saying which in failures.
template <class Body>
void for_each_kernel(const OpDef& op, Body body) {
  for (std::size_t s = 0; s < op.samples.size(); ++s) {
    std::string text;
    for (const SampleInput& input : op.samples[s].in) text += " " + to_string(input.spec);
    for (const auto& [name, value] : op.samples[s].attrs.entries())
      text += " " + name + "=" + to_string(value);
    for (const Kernel& kernel : op.kernels) {
      SCOPED_TRACE("kernel " + std::string(kernel.name) + ", sample " + std::to_string(s) + ":" +
                   text);
      body(op.samples[s], kernel);
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
