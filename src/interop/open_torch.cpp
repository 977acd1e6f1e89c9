#include "format/torch_file.h"
#include "interop/readers.h"

namespace plimsoll::interop {

ImportedFile open_torch(const std::filesystem::path& path) {
  const auto reader = std::make_shared<const TorchFile>(path);
  ImportedFile file{.path = path,
                    .format = reader->is_archive() ? "PyTorch state_dict (zip)"
                                                   : "PyTorch state_dict (before 1.6)",
                    .tensors = reader};
  name_torch_layers(file);
  return file;
}

}  // namespace plimsoll::interop
