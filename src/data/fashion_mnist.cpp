#include "data/fashion_mnist.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/idx.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

fs::path find_file(const fs::path& directory, const std::string& name) {
  const fs::path plain = directory / name;
  const fs::path compressed = directory / (name + ".gz");
  std::error_code error;
  if (fs::exists(plain, error)) return plain;
  if (fs::exists(compressed, error)) return compressed;
  throw DataError({.where = directory.string(),
                   .got = "there is no " + name + ".gz",
                   .expected = "expected the files of Fashion-MNIST",
                   .hint = "apt-get install dataset-fashion-mnist"});
}

}  // namespace

fs::path fashion_mnist_directory() { return "/usr/share/datasets/fashion-mnist"; }

Images load_fashion_mnist(Split split, const fs::path& directory) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const fs::path image_path = find_file(directory, prefix + "-images-idx3-ubyte");
  const fs::path label_path = find_file(directory, prefix + "-labels-idx1-ubyte");
  IdxArray pixels = read_idx(image_path);
  const IdxArray labels = read_idx(label_path);

  if (pixels.shape.size() != 3)
    throw DataError({.where = image_path.string(),
                     .got = std::to_string(pixels.shape.size()) + " dimensions",
                     .expected = "expected 3: images, rows, columns"});
  if (labels.shape.size() != 1 || labels.shape[0] != pixels.shape[0])
    throw DataError({.where = label_path.string(),
                     .got = std::to_string(labels.values.size()) + " labels in " +
                            std::to_string(labels.shape.size()) + " dimensions",
                     .expected = "expected one for each of the " + std::to_string(pixels.shape[0]) +
                                 " images"});
  Images images{.count = pixels.shape[0],
                .height = pixels.shape[1],
                .width = pixels.shape[2],
                .channels = 1,
                .pixels = std::move(pixels.values),
                .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
                                "Shirt", "Sneaker", "Bag", "Ankle boot"}};
  images.labels.reserve(labels.values.size());
  for (const std::uint8_t label : labels.values) {
    if (label >= images.class_names.size())
      throw DataError(
          {.where = label_path.string() + ": label " + std::to_string(images.labels.size()),
           .got = "class " + std::to_string(label),
           .expected = "expected 0 to 9"});
    images.labels.push_back(label);
  }
  return images;
}

}  // namespace plimsoll
