// All that lasts of a trainer, as bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "step/trainer.h"

namespace plimsoll {

inline std::vector<std::byte> residents(const Trainer& trainer) {
  std::vector<std::byte> bytes;
  for (const std::string& name : trainer.session().resident_names()) {
    const TensorView view = trainer.session().resident(name);
    bytes.insert(bytes.end(), view.data, view.data + view.spec.bytes());
  }
  return bytes;
}

}  // namespace plimsoll
