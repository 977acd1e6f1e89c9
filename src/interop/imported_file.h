// A file of weights, of a network, or of both, that another program wrote, in our words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "format/tensor_file.h"

namespace plimsoll::interop {

using Dims = std::vector<std::int64_t>;

// How the axes of a stored weight lie. Ours are [O, I, H, W] for convolutions, [C, 1, H, W] for
// depthwise ones, [in, out] for dense layers.
enum class Axes : std::uint8_t {
  ours,
  hwio,      // Keras, TensorFlow: convolutions [H, W, I, O]
  hwcm,      // Keras, TensorFlow: depthwise convolutions [H, W, C, 1]
  out_in,    // PyTorch: dense layers [out, in]
  out_bins,  // those over bins of regions: in is [C, H, W], where ours is [H, W, C]
};

struct ImportedWeight {
  std::string weight;      // Keras's word: kernel, bias, depthwise_kernel, pointwise_kernel, gamma,
                           // beta, moving_mean, moving_variance
  std::size_t tensor = 0;  // of ImportedFile::tensors
  Axes axes = Axes::ours;
};

struct ImportedLayer {
  std::string name;   // in the file
  std::string place;  // with Naming::classes, see there
  std::vector<ImportedWeight>
      weights;  // in the file's order, which is Keras's: trainable ones first
};

// What an optimizer remembered of one weight. Its axes lie as the weight's do.
struct ImportedSlot {
  std::size_t weight = 0;  // the weight's tensor
  std::string slot;        // the optimizer's word, see step/optimizer.h: momentum, velocity
  std::size_t tensor = 0;
};

struct ImportedOptimizer {
  std::string name;  // sgd, rmsprop, adam; empty: the file has none that we know
  std::int64_t steps = 0;
  std::vector<ImportedSlot> slots;
};

// How layers of the file find theirs in a network.
enum class Naming : std::uint8_t {
  order,  // the n-th layer with weights is the n-th: Keras's rule
  names,  // layers have the network's own names
  // Keras 3's rule for weights without a description: the n-th layer of a class is the n-th of it.
  // `place` is "conv2d#0", the class as Keras calls its groups and its number among those with
  // weights; in a model inside, that model's name and a dot stand before.
  classes,
};

struct ImportedFile {
  std::filesystem::path path;
  std::string format;   // for people: "Keras HDF5 model", "PyTorch state_dict (zip)"
  std::string version;  // of what wrote it, as far as it says: "2.4.0"
  // Null where the file has no weights.
  std::shared_ptr<const TensorFile> tensors;
  std::vector<ImportedLayer> layers;  // those with weights, in the file's order
  Naming naming = Naming::order;
  // Tensors that belong to no layer and to no optimizer, for people: "bn1.num_batches_tracked".
  std::vector<std::string> others;
  ImportedOptimizer optimizer;
  // The network as Keras's JSON (`to_json`, or config.json of an archive); empty: the file has
  // none.
  std::string description;
  // The zoo's network that these weights are of, as far as their names tell; may be empty.
  std::string network;
  // How pictures are made into input for these weights, see data/picture/normalise.h; empty: not
  // known.
  std::string preprocessing;
  // What was made of the file that its reader should know of, for people; whole sentences.
  std::vector<std::string> notes;
};

// Opens a file by its content, whatever it is called; a TensorFlow checkpoint by its prefix
// ("model.ckpt-1000"), its .index or its only .data file. Reads headers and names, no weights.
// DataError if it is none that we know, is damaged, or holds what we do not run; names what.
ImportedFile open_imported(const std::filesystem::path& path);

}  // namespace plimsoll::interop
