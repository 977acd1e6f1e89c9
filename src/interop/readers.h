// One reader for each kind of file; for the files of interop/ only. `open_imported` asks them in
// turn.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "format/zip.h"
#include "interop/imported_file.h"

namespace plimsoll::interop {

// What a file begins with, as much of it as is there.
inline constexpr std::size_t kHeadBytes = 64;

// Keras: HDF5 (.h5, .hdf5, .weights.h5), archives (.keras), and JSON (`to_json`).
ImportedFile open_keras_hdf5(const std::filesystem::path& path);
ImportedFile open_keras_archive(const std::filesystem::path& path);
// By what it holds; PyTorch's archives are zip files too.
bool is_keras_archive(const ZipReader& zip);
ImportedFile open_keras_json(const std::filesystem::path& path);
// PyTorch: a state_dict, as a zip archive or in the form before 1.6.
ImportedFile open_torch(const std::filesystem::path& path);
// TensorFlow: checkpoints V2 (a prefix with .index and .data-?????-of-?????) and V1 (one table).
ImportedFile open_tensorflow(const std::filesystem::path& path);
// Our own names, or PyTorch's.
ImportedFile open_safetensors(const std::filesystem::path& path);

// Layers of a state_dict by PyTorch's rules: "layer1.0.conv1.weight" is the kernel of layer
// "layer1.0.conv1"; of BatchNorms, known by their running statistics, it is gamma. Fills layers,
// others and, where the names are those of a network of the zoo, `network`, `preprocessing` and our
// names of layers. `file.tensors` is set.
void name_torch_layers(ImportedFile& file);
// The same for TensorFlow's variables by TF-Slim's names, "InceptionV3/Conv2d_1a_3x3/weights".
void name_slim_layers(ImportedFile& file);

}  // namespace plimsoll::interop
