#include <array>

#include "base/error.h"
#include "base/files.h"
#include "format/tensorflow_checkpoint.h"
#include "format/torch_file.h"
#include "format/zip.h"
#include "interop/readers.h"

namespace plimsoll::interop {
namespace {

constexpr std::string_view kKnownFormats =
    "expected weights or a network: safetensors, Keras (.h5, .weights.h5, .keras, JSON), PyTorch "
    "(.pth, .pt) or a TensorFlow checkpoint";

}  // namespace

ImportedFile open_imported(const std::filesystem::path& path) {
  // A checkpoint of TensorFlow may be a prefix that is no file.
  if (TensorflowCheckpoint::find_table(path)) return open_tensorflow(path);
  const InputFile file = open_input(path);
  std::array<std::byte, kHeadBytes> bytes{};
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(file.size.count, kHeadBytes));
  file.read_at(0, std::span(bytes).first(size));
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), size);
  // A length that is below 2^32, and then JSON.
  if (size > 8 && head.substr(4, 4) == std::string_view("\0\0\0\0", 4) && head[8] == '{')
    return open_safetensors(path);
  if (head.starts_with("\x89HDF\r\n\x1A\n")) return open_keras_hdf5(path);
  if (TorchFile::is_old_form(head)) return open_torch(path);
  if (head.starts_with("PK\x03\x04")) {
    const ZipReader archive(path);
    if (is_keras_archive(archive)) return open_keras_archive(path);
    if (TorchFile::is_archive(archive)) return open_torch(path);
  }
  if (const std::size_t first = head.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && head[first] == '{')
    return open_keras_json(path);
  throw DataError({.where = path.string(),
                   .got = size == 0 ? "an empty file" : "a file of a kind that is not known here",
                   .expected = std::string(kKnownFormats)});
}

}  // namespace plimsoll::interop
