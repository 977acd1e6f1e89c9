// Weights as PyTorch names and lays them out, in a safetensors file.
#pragma once

#include <filesystem>
#include <vector>

#include "format/safetensors.h"
#include "nn/layer.h"
#include "step/weights.h"

namespace plimsoll::interop {

// "conv2d_1/kernel" becomes "conv2d_1.weight", of a BatchNorm gamma "weight", beta "bias", and its
// statistics running_mean and running_var; the two kernels of a separable convolution are modules
// of their own, "depthwise" and "pointwise". Dense weights are [out, in]. The class scores of a
// detector get torchvision's column of the background before the classes of each anchor: kernel 0,
// bias -100, so that its score is 0 whatever is seen. `layers`: of the network;
// `weights`: views by our names. Appears complete or not at all. DataError.
void write_torch_safetensors(const std::filesystem::path& path,
                             const std::vector<nn::Layer>& layers,
                             const std::vector<NamedTensor>& weights, const Metadata& metadata);

}  // namespace plimsoll::interop
