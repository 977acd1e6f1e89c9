#include "format/element_type.h"

#include <array>

#include "base/error.h"

namespace plimsoll {
namespace {

struct Row {
  ElementType type;
  std::string_view name;
  std::int64_t size;
  std::optional<DType> dtype;
};

constexpr std::array<Row, 15> kRows = {{
    {ElementType::boolean, "BOOL", 1, std::nullopt},
    {ElementType::u8, "U8", 1, DType::u8},
    {ElementType::i8, "I8", 1, std::nullopt},
    {ElementType::f8_e5m2, "F8_E5M2", 1, std::nullopt},
    {ElementType::f8_e4m3, "F8_E4M3", 1, std::nullopt},
    {ElementType::u16, "U16", 2, std::nullopt},
    {ElementType::i16, "I16", 2, std::nullopt},
    {ElementType::f16, "F16", 2, DType::f16},
    {ElementType::bf16, "BF16", 2, std::nullopt},
    {ElementType::u32, "U32", 4, std::nullopt},
    {ElementType::i32, "I32", 4, DType::i32},
    {ElementType::f32, "F32", 4, DType::f32},
    {ElementType::u64, "U64", 8, std::nullopt},
    {ElementType::i64, "I64", 8, DType::i64},
    {ElementType::f64, "F64", 8, DType::f64},
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

ElementType element_type_of(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row.type;
  bug("a dtype without an element type");
}

std::optional<DType> find_dtype(ElementType type) { return row_of(type).dtype; }

}  // namespace plimsoll
