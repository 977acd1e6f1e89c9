#pragma once

#include <vector>

namespace plimsoll {

// first, first + 1, ...: what the golden files' tensors hold.
template <class T>
std::vector<T> counting(T first, int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(first + static_cast<T>(i));
  return values;
}

}  // namespace plimsoll
