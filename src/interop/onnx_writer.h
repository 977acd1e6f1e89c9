// A trained network as an ONNX file, to be run by other programs.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "nn/nn.h"
#include "step/weights.h"

namespace plimsoll::interop {

struct OnnxOptions {
  std::string name = "network";
  // A second output, "probabilities": softmax or sigmoid of the logits; empty: none.
  std::string ending = {};
  // BatchNorms behind convolutions become part of their weights.
  bool fold_batch_norm = false;
  std::vector<std::pair<std::string, std::string>> metadata = {};  // for whoever opens the file
};

// `graph`: a network as nn::Builder makes it for inference, no pass run over it; `weights`: all of
// its residents, f32. Input "image" [N, C, H, W], channels first, with any N; output "logits"
// [N, K], or of a detector "scores_0" and "deltas_0" of its finest level and so on, [N, A*K, H, W]
// and [N, A*4, H, W]: see nn::Level. Opset 17. Weights are read in pieces. UsageError for a
// detector of two stages, and one that names a node which ONNX has no words for; DataError if the
// file cannot be written.
void write_onnx(const std::filesystem::path& path, const Graph& graph, const nn::Heads& heads,
                const std::vector<NamedTensor>& weights, const OnnxOptions& options = {});

}  // namespace plimsoll::interop
