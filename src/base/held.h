// What containers hold of the heap, malloc's own bytes included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace plimsoll {

// One block of malloc's: a word before it, in steps of 16, at least 32; large ones are whole pages.
inline Bytes heap_block(std::size_t bytes) {
  constexpr std::size_t kMappedAlone = 128 * 1024;
  if (bytes == 0) return Bytes{0};
  const std::size_t step = bytes >= kMappedAlone ? 4096 : 16;
  return {
      static_cast<std::int64_t>(std::max<std::size_t>(32, (bytes + 8 + step - 1) / step * step))};
}

// Beside the string itself: short ones hold nothing.
inline Bytes held(const std::string& text) {
  static const std::size_t kInside = std::string().capacity();
  return text.capacity() <= kInside ? Bytes{0} : heap_block(text.capacity() + 1);
}

template <typename T>
Bytes held(const std::vector<T>& values) {
  return heap_block(values.capacity() * sizeof(T));
}

inline Bytes held(const std::vector<std::string>& texts) {
  Bytes sum = heap_block(texts.capacity() * sizeof(std::string));
  for (const std::string& text : texts) sum += held(text);
  return sum;
}

}  // namespace plimsoll
