// What the pickle of a PyTorch file says of its tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/pickle.h"
#include "format/tensor_file.h"

namespace plimsoll {

// Memory that tensors are views of. Where it is in the file, the file's form tells.
struct TorchStorage {
  std::string key;
  ElementType type = ElementType::u8;
};

// A tensor as a view of a storage; in elements.
struct TorchTensor {
  StoredTensor stored;
  std::size_t storage = 0;  // of StateDict::storages
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

struct StateDict {
  std::vector<TorchStorage> storages;
  std::vector<TorchTensor> tensors;  // in the file's order; names are unique
};

// Names that a state_dict, or a checkpoint around one, may call.
std::span<const std::string_view> state_dict_names();

// The tensors of a state_dict, also where it is one entry of a checkpoint ("state_dict", "model"),
// without the "module." that DataParallel puts before all names. Shapes have sizes that can be
// multiplied; whether strides stay within a storage is not checked. DataError that names `where`.
StateDict read_state_dict(const Pickle& pickle, const std::string& where);

}  // namespace plimsoll
