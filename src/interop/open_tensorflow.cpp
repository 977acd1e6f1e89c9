#include "format/tensorflow_checkpoint.h"
#include "interop/readers.h"

namespace plimsoll::interop {

ImportedFile open_tensorflow(const std::filesystem::path& path) {
  const auto reader = std::make_shared<const TensorflowCheckpoint>(path);
  ImportedFile file{
      .path = path,
      .format = reader->format() == 1 ? "TensorFlow checkpoint (V1)" : "TensorFlow checkpoint (V2)",
      .tensors = reader};
  name_slim_layers(file);
  return file;
}

}  // namespace plimsoll::interop
