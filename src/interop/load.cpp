#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "interop/axes.h"
#include "interop/match.h"
#include "tensor/convert.h"

namespace plimsoll::interop {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

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

// Elements as f32. False for types that are no numbers of weights.
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

}  // namespace

void load(const ImportedFile& file, const std::vector<Match>& matches,
          const std::vector<NamedTensor>& weights) {
  std::map<std::string_view, const TensorView*> views;
  for (const NamedTensor& weight : weights) views[weight.name] = &weight.view;
  alignas(8) std::array<std::byte, kPieceBytes> buffer;
  std::vector<float> values;
  for (const Match& match : matches) {
    const auto view = views.find(match.parameter);
    expect(view != views.end(), "a match with a weight that is not there");
    const StoredTensor& stored = file.tensors->tensors()[match.tensor];
    const std::vector<int> order = order_of(match.axes, view->second->spec.shape.rank());
    std::int64_t first = 0;
    file.tensors->read(match.tensor, buffer, [&](std::span<const std::byte> piece) {
      if (!to_floats(stored.type, piece, values))
        throw DataError({.where = file.path.string() + ": tensor '" + stored.name + "'",
                         .got = to_string(stored),
                         .expected = "expected F32, F16, BF16 or F64"});
      write_elements(*view->second, first, values, order);
      first += static_cast<std::int64_t>(values.size());
    });
    expect(first == view->second->spec.shape.elements(), "a tensor is read whole");
  }
}

}  // namespace plimsoll::interop
