#include <utility>

#include "base/error.h"
#include "interop/keras_store.h"
#include "interop/readers.h"

namespace plimsoll::interop {
namespace {

bool has_list(const Hdf5Object& object, const std::string& name) {
  return object.attribute(name) != nullptr || object.attribute(name + "0") != nullptr;
}

}  // namespace

void read_keras_store(ImportedFile& file, std::shared_ptr<const Hdf5File> hdf5,
                      const std::string& training) {
  const Hdf5Object& root = hdf5->root();
  KerasImport import{.file = file,
                     .hdf5 = *hdf5,
                     .model = parse_keras_layers(file.description),
                     .variables = {},
                     .taken = std::vector<bool>(hdf5->tensors().size())};
  const Hdf5Object* weights = root.find("model_weights");
  const Hdf5Object& legacy = weights != nullptr ? *weights : root;
  if (has_list(legacy, "layer_names")) {
    read_legacy_layers(import, legacy);
    if (const Hdf5Object* optimizer = root.find("optimizer_weights"))
      read_legacy_optimizer(import, *optimizer, training);
  } else if (root.find("layers") != nullptr ||
             root.find("_layer_checkpoint_dependencies") != nullptr) {
    read_numbered_layers(import, root);
    if (const Hdf5Object* optimizer = root.find("optimizer/vars"))
      read_numbered_optimizer(import, *optimizer, training);
  } else {
    throw DataError({.where = file.path.string(),
                     .got = "an HDF5 file without layers of Keras",
                     .expected = "expected the attribute layer_names, or the group layers"});
  }
  for (std::size_t t = 0; t < import.taken.size(); ++t)
    if (!import.taken[t]) file.others.push_back(hdf5->tensors()[t].name);
  file.tensors = std::move(hdf5);
  describe_normalizations(file);
}

ImportedFile open_keras_hdf5(const std::filesystem::path& path) {
  auto hdf5 = std::make_shared<const Hdf5File>(path);
  const Hdf5Object& root = hdf5->root();
  const Hdf5Object* weights = root.find("model_weights");
  ImportedFile file{.path = path, .description = root.text("model_config")};
  file.format = !file.description.empty()        ? "Keras HDF5 model"
                : root.find("layers") != nullptr ? "Keras 3 weights (HDF5)"
                                                 : "Keras weights (HDF5)";
  file.version = root.text("keras_version");
  if (file.version.empty() && weights != nullptr) file.version = weights->text("keras_version");
  const std::string training = root.text("training_config");
  read_keras_store(file, std::move(hdf5), training);
  return file;
}

}  // namespace plimsoll::interop
