// The small networks of the zoo, as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/sanitized.h"

namespace plimsoll {

// A sanitizer watches code, not numbers, and takes minutes for each: one has to do.
inline auto mini_networks() {
  if constexpr (kSanitized)
    return testing::Values("inception_mini");
  else
    return testing::Values("inception_mini", "xception_mini", "resnet20");
}

inline std::string network_name(const testing::TestParamInfo<const char*>& network) {
  return network.param;
}

}  // namespace plimsoll
