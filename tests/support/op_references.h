// What ops of a single kernel should compute, written out a second time in the plainest form: from
// logical elements to logical elements, in f64, without layouts, slices or threads.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/attrs.h"
#include "tensor/spec.h"

namespace plimsoll {

struct Numbers {
  Shape shape;
  std::vector<double> values;  // row-major
};

// Elements of every output. Inputs are as they were before the call.
using OpReference = std::vector<std::vector<double>> (*)(const Attrs& attrs,
                                                         const std::vector<Numbers>& in);

// Null where nobody wrote one: the op then needs a second kernel.
OpReference find_reference(std::string_view op);

}  // namespace plimsoll
