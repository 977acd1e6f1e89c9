// Which tensor of a file belongs to which weight of a network.
#pragma once

#include <string>
#include <vector>

#include "interop/imported_file.h"
#include "nn/layer.h"
#include "step/weights.h"

namespace plimsoll::interop {

// One weight of the network and the tensor it is taken from.
struct Match {
  std::string parameter;  // "conv2d_1/kernel"
  std::size_t tensor = 0;
  Axes axes = Axes::ours;
};

// One that stays as it is, or one of the file that nobody takes.
struct Mismatch {
  std::string ours;  // "predictions/kernel [2048, 5]"; empty: the network has none
  std::string
      theirs;  // "predictions/predictions/kernel:0 F32 [2048, 1000]"; empty: the file has none
};

struct Matching {
  std::vector<Match> matches;
  std::vector<Mismatch> mismatches;
  // All of them are of the network's last layer with weights; of a detector: of its pyramid and
  // heads.
  bool replaces_head = false;
  // Classes that the file's layer tells apart which is that one's; 0: it has none.
  std::int64_t head_width = 0;
};

// `layers`: the network's, in Keras's order. By the file's naming, or by names if asked for. By
// order, the numbers of layers must agree but for those of the head, or nothing matches. By names,
// a classifier's layers are those of a detector's body ("conv1" is "backbone.body.conv1").
Matching match(const ImportedFile& file, const std::vector<nn::Layer>& layers,
               bool by_name = false);

// Puts the file's tensors in place, a piece at a time: what is held beside does not grow with the
// file. Types other than f32 are converted. DataError when the file cannot be read; then part of
// the weights may have been.
void load(const ImportedFile& file, const std::vector<Match>& matches,
          const std::vector<NamedTensor>& weights);

}  // namespace plimsoll::interop
