// Element types as weight files spell them; a wider set than the engine computes with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

enum class ElementType : std::uint8_t {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  u16,
  i16,
  f16,
  bf16,
  u32,
  i32,
  f32,
  u64,
  i64,
  f64,
};

// In bytes.
std::int64_t size_of(ElementType type);
// As safetensors writes it: "F32", "BF16", "BOOL".
std::string_view name_of(ElementType type);
std::optional<ElementType> find_element_type(std::string_view name);

}  // namespace plimsoll
