#include "data/source/idx_pair.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/source/idx.h"
#include "data/source/memory_source.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kImages[] = {"images-idx3-ubyte", "images.idx3-ubyte",
                                        "images-idx4-ubyte"};

std::string_view find_images_word(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view word : kImages)
    if (name.ends_with(word)) return word;
  return {};
}

fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::string_view word = find_images_word(name);
  const char joint = word[6];
  name.resize(name.size() - word.size());
  name += std::string("labels") + joint + "idx1-ubyte";
  std::error_code error;
  for (const std::string& candidate : {name, name + ".gz"})
    if (fs::exists(images.parent_path() / candidate, error))
      return images.parent_path() / candidate;
  throw DataError({.where = images.string(),
                   .got = "there is no " + name + " or " + name + ".gz beside it",
                   .expected = "expected the labels of these images"});
}

fs::path images_in(const fs::path& folder, bool test) {
  const std::string prefix = test ? "t10k-" : "train-";
  std::error_code error;
  for (const std::string_view word : kImages)
    for (const char* packed : {"", ".gz"}) {
      const fs::path path = folder / (prefix + std::string(word) + packed);
      if (fs::exists(path, error)) return path;
    }
  return {};
}

}  // namespace

bool is_idx_images(const fs::path& path) {
  return !find_images_word(path.filename().string()).empty();
}

Images load_idx_pair(const fs::path& path, const fs::path& label_path) {
  IdxArray pixels = read_idx(path);
  const IdxArray labels = read_idx(label_path);
  const std::size_t rank = pixels.shape.size();
  if ((rank != 3 && rank != 4) || (rank == 4 && pixels.shape[3] != 1 && pixels.shape[3] != 3))
    throw DataError({.where = path.string(),
                     .got = std::to_string(rank) + " dimensions",
                     .expected = "expected images, rows, columns and perhaps 1 or 3 channels"});
  constexpr std::int64_t kLongestSide = 65'535;
  if (pixels.shape[1] > kLongestSide || pixels.shape[2] > kLongestSide)
    throw DataError({.where = path.string(),
                     .got = "images of " + std::to_string(pixels.shape[1]) + " x " +
                            std::to_string(pixels.shape[2]),
                     .expected = "expected at most 65535 on a side"});
  if (labels.shape.size() != 1 || labels.shape[0] != pixels.shape[0])
    throw DataError({.where = label_path.string(),
                     .got = std::to_string(labels.values.size()) + " labels in " +
                            std::to_string(labels.shape.size()) + " dimensions",
                     .expected = "expected one for each of the " + std::to_string(pixels.shape[0]) +
                                 " images"});
  Images images{.count = pixels.shape[0],
                .height = pixels.shape[1],
                .width = pixels.shape[2],
                .channels = rank == 4 ? pixels.shape[3] : 1,
                .pixels = std::move(pixels.values)};
  images.labels.assign(labels.values.begin(), labels.values.end());
  return images;
}

SourcePtr open_idx_pair(const fs::path& path) {
  Images images = load_idx_pair(path, labels_beside(path));
  const int classes = std::ranges::max(images.labels) + 1;
  for (int label = 0; label < classes; ++label) images.class_names.push_back(std::to_string(label));
  return make_memory_source(std::move(images), path.string(), "IDX files");
}

bool has_idx_pair(const fs::path& folder, bool test) { return !images_in(folder, test).empty(); }

SourcePtr open_idx_folder(const fs::path& folder, bool test) {
  return open_idx_pair(images_in(folder, test));
}

}  // namespace plimsoll
