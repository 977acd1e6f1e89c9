// A file of weights that holds nothing but names and shapes, for tests of what names mean.
#pragma once

#include <utility>
#include <vector>

#include "format/tensor_file.h"

namespace plimsoll::tests {

class ListedTensors final : public TensorFile {
 public:
  explicit ListedTensors(std::vector<StoredTensor> tensors) : tensors_(std::move(tensors)) {}
  const std::vector<StoredTensor>& tensors() const override { return tensors_; }
  void read(std::size_t, std::span<std::byte>, const Take&) const override {}

 private:
  std::vector<StoredTensor> tensors_;
};

}  // namespace plimsoll::tests
