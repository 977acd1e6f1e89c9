// Named tensors in a file, whatever its format: listed at once, read when they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "format/element_type.h"

namespace plimsoll {

struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  // empty: a scalar

  std::int64_t bytes() const;
  bool operator==(const StoredTensor&) const = default;
};

// "F32 [64, 3, 7, 7]".
std::string to_string(const StoredTensor& tensor);

// An open file. Its constructors check all sizes against what the file holds, so that whoever
// believes tensors() allocates no more than that. Thread-compatible.
class TensorFile {
 public:
  virtual ~TensorFile() = default;

  // In the file's own order. Names are unique.
  virtual const std::vector<StoredTensor>& tensors() const = 0;

  // Hands the elements of tensors()[tensor], row-major over its shape and little-endian, to `take`
  // in order, in pieces that fill `buffer` (the last may be shorter). The buffer is aligned for any
  // element and its size a multiple of 8, so pieces are of whole elements. DataError that names
  // file and tensor.
  using Take = std::function<void(std::span<const std::byte> piece)>;
  virtual void read(std::size_t tensor, std::span<std::byte> buffer, const Take& take) const = 0;
};

}  // namespace plimsoll
