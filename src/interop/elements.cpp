#include "interop/elements.h"

#include <bit>
#include <cstring>

namespace plimsoll::interop {
namespace {

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | mantissa << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float value = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -value : value;
}

template <class T, class Convert>
void convert(std::span<const std::byte> bytes, std::vector<float>& out, Convert to_float) {
  out.resize(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = to_float(value);
  }
}

}  // namespace

bool to_floats(ElementType type, std::span<const std::byte> bytes, std::vector<float>& out) {
  const auto cast = [](auto value) { return static_cast<float>(value); };
  switch (type) {
    case ElementType::f32: convert<float>(bytes, out, cast); return true;
    case ElementType::f64: convert<double>(bytes, out, cast); return true;
    case ElementType::f16: convert<std::uint16_t>(bytes, out, from_f16); return true;
    case ElementType::bf16: convert<std::uint16_t>(bytes, out, from_bf16); return true;
    default: return false;
  }
}

}  // namespace plimsoll::interop
