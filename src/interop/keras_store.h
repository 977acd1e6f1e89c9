// The two ways in which Keras lays out weights in an HDF5 file; for the keras_*.cpp of interop/
// only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/hdf5.h"
#include "interop/imported_file.h"
#include "interop/keras_words.h"

namespace plimsoll::interop {

// A weight as an optimizer names and counts it.
struct KerasVariable {
  std::size_t layer = 0;   // of ImportedFile::layers
  std::size_t weight = 0;  // of its weights
  std::string path;        // "conv2d_1/kernel"
};

// What is read of a file, on its way to an ImportedFile. `file.tensors` is `hdf5`.
struct KerasImport {
  ImportedFile& file;
  const Hdf5File& hdf5;
  KerasOutline model;                    // of its description; without layers if it has none
  std::vector<KerasVariable> variables;  // that may be trained, in the file's order
  std::vector<bool> taken;               // which tensors have an owner
};

// Until Keras 2, and `.h5` of Keras 3: a group for each layer, listed in attributes. `group` has
// the attribute layer_names.
void read_legacy_layers(KerasImport& import, const Hdf5Object& group);
// Keras 3's `.weights.h5`: groups by class and number. `root` has the group "layers".
void read_numbered_layers(KerasImport& import, const Hdf5Object& root);

// The optimizer's state in either layout; `config`: the JSON that says which it is, where there is
// one. What cannot be told apart is left to `others`.
void read_legacy_optimizer(KerasImport& import, const Hdf5Object& group, const std::string& config);
void read_numbered_optimizer(KerasImport& import, const Hdf5Object& vars,
                             const std::string& config);

// Reads what is in either layout, by which groups are there; then lists what nobody took.
// DataError if the file is neither. `training`: JSON that says what
// it was compiled with.
void read_keras_store(ImportedFile& file, std::shared_ptr<const Hdf5File> hdf5,
                      const std::string& training);

// Takes Normalization layers out of the file's layers: what they do goes into its description,
// where a given mean and variance would stand; without a description they are among the others.
void describe_normalizations(ImportedFile& file);

// Texts of an attribute that may be split into several, "layer_names0" and so on.
std::vector<std::string> split_texts(const Hdf5Object& object, const std::string& name);

}  // namespace plimsoll::interop
