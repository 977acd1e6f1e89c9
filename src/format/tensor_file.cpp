#include "format/tensor_file.h"

namespace plimsoll {

std::int64_t StoredTensor::bytes() const {
  std::int64_t bytes = size_of(type);
  for (const std::int64_t dim : shape) bytes *= dim;
  return bytes;
}

std::string to_string(const StoredTensor& tensor) {
  std::string text(name_of(tensor.type));
  text += " [";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

}  // namespace plimsoll
