// Fashion-MNIST: 28x28 grey images of clothes, 60,000 to train on and 10,000 to test.
#pragma once

#include <filesystem>

#include "data/source/images.h"

namespace plimsoll {

enum class Split { train, test };

// Where the Debian package dataset-fashion-mnist puts the files.
std::filesystem::path fashion_mnist_directory();

// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte, with .gz or without, from `directory`. Any
// IDX pair of grey images with labels 0..9 will do. DataError if a file is missing (with what to
// install), damaged, or if images and labels do not fit together.
Images load_fashion_mnist(Split split,
                          const std::filesystem::path& directory = fashion_mnist_directory());

}  // namespace plimsoll
