#include "format/element_type.h"

#include <array>

#include "base/error.h"

namespace plimsoll {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  std::int64_t size;
};

constexpr std::array<Row, 15> kRows = {{
    {ElementType::boolean, "BOOL", 1},
    {ElementType::u8, "U8", 1},
    {ElementType::i8, "I8", 1},
    {ElementType::f8_e5m2, "F8_E5M2", 1},
    {ElementType::f8_e4m3, "F8_E4M3", 1},
    {ElementType::u16, "U16", 2},
    {ElementType::i16, "I16", 2},
    {ElementType::f16, "F16", 2},
    {ElementType::bf16, "BF16", 2},
    {ElementType::u32, "U32", 4},
    {ElementType::i32, "I32", 4},
    {ElementType::f32, "F32", 4},
    {ElementType::u64, "U64", 8},
    {ElementType::i64, "I64", 8},
    {ElementType::f64, "F64", 8},
}};

const Row& row_of(ElementType type) {
  for (const Row& row : kRows)
    if (row.type == type) return row;
  bug("an element type without a row");
}

}  // namespace

std::int64_t size_of(ElementType type) { return row_of(type).size; }

std::string_view name_of(ElementType type) { return row_of(type).name; }

std::optional<ElementType> find_element_type(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.type;
  return std::nullopt;
}

}  // namespace plimsoll
