// Our detectors against torchvision's code in double precision (tools/golden/make_retinanet.py and
// make_fasterrcnn.py).
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tensor/spec.h"

namespace plimsoll::tests {

// What tests/golden/retinanet.json and fasterrcnn.json say of one network.
const nlohmann::json& retinanet_golden(const std::string& network);
const nlohmann::json& fasterrcnn_golden(const std::string& network);

// All in double, by reference kernels: anchors and matches equal in every element, regions that are
// drawn the same list, each part of the loss within 1e-9, every gradient within 1e-8 of its norm.
void expect_double_step(const nlohmann::json& golden, const std::string& variant);
// The same list: boxes within 1e-6 pixels, scores within 1e-8, classes equal. Of two stages, what
// the first proposes, too.
void expect_detections(const nlohmann::json& golden);
// In f32, by the kernels that train: losses within 1e-5, gradients within 1e-3, and the losses of
// ten steps within 1e-4.
void expect_float_steps(const nlohmann::json& golden, const std::string& variant,
                        std::int64_t lanes = kNarrowLanes);

// Of tests over networks: what they are called.
inline std::string detector_name(const testing::TestParamInfo<const char*>& network) {
  return network.param;
}

}  // namespace plimsoll::tests
