#include "tensor/attrs.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {
namespace {

template <class T>
const T& read(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  expect(value != nullptr, "attribute that is not in the schema");
  const T* typed = std::get_if<T>(value);
  expect(typed != nullptr, "attribute read as another type");
  return *typed;
}

}  // namespace

std::string to_string(const AttrValue& value) {
  struct Print {
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      std::string text = fmt::format("{}", v);
      if (text.find_first_of(".en") == std::string::npos) text += ".0";
      return text;
    }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const Ints& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
  };
  return std::visit(Print{}, value);
}

Attrs::Attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

void Attrs::set(std::string_view name, AttrValue value) {
  for (auto& [known, old] : entries_) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  entries_.emplace_back(std::string(name), std::move(value));
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [known, value] : entries_)
    if (known == name) return &value;
  return nullptr;
}

std::int64_t Attrs::integer(std::string_view name) const { return read<std::int64_t>(*this, name); }
double Attrs::real(std::string_view name) const { return read<double>(*this, name); }
const std::string& Attrs::word(std::string_view name) const {
  return read<std::string>(*this, name);
}
const Ints& Attrs::ints(std::string_view name) const { return read<Ints>(*this, name); }

}  // namespace plimsoll
