// Networks up to where a classifier pools or a pyramid begins.
#pragma once

#include <string>

#include "nn/nn.h"

namespace plimsoll::zoo {

// The last values of strides 4, 8, 16 and 32.
struct Stages {
  ValueId c2, c3, c4, c5;
};

// `prefix` stands before the name of every layer.
Stages resnet50_torch_body(nn::Builder& net, const std::string& prefix);
// A residual network of 18 convolutions, 128 wide at most.
Stages mini_body(nn::Builder& net, const std::string& prefix);
// Up to its last block: the widening behind it is the classifier's.
Stages efficientnet_lite0_body(nn::Builder& net);

}  // namespace plimsoll::zoo
