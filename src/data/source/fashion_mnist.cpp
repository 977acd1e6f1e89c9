#include "data/source/fashion_mnist.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/error.h"
#include "data/source/idx_pair.h"

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
  const fs::path label_path = find_file(directory, prefix + "-labels-idx1-ubyte");
  Images images = load_idx_pair(find_file(directory, prefix + "-images-idx3-ubyte"), label_path);
  images.class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                        "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  const auto unknown = std::ranges::find_if(
      images.labels, [&](std::int32_t label) { return label >= std::ssize(images.class_names); });
  if (unknown != images.labels.end())
    throw DataError({.where = label_path.string() + ": label " +
                              std::to_string(unknown - images.labels.begin()),
                     .got = "class " + std::to_string(*unknown),
                     .expected = "expected 0 to 9"});
  return images;
}

}  // namespace plimsoll
