#include "data/source/example.h"

#include <bit>

#include "format/protobuf.h"

namespace plimsoll {
namespace {

constexpr std::size_t kLongestKey = 4096;

std::optional<ProtoField> next_bytes_field(ProtoReader& reader, std::uint32_t number) {
  while (const std::optional<ProtoField> field = reader.next())
    if (field->number == number && field->type == WireType::bytes) return field;
  return std::nullopt;
}

Feature parse_feature(std::span<const std::byte> message, std::span<const std::byte> record) {
  Feature feature{.record = record};
  ProtoReader reader(message, record);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (field->type != WireType::bytes || field->number > 3) continue;
    feature.kind = static_cast<FeatureKind>(field->number);
    feature.list = field->bytes;
  }
  return feature;
}

}  // namespace

static_assert(static_cast<int>(FeatureKind::bytes) == 1 &&
              static_cast<int>(FeatureKind::floats) == 2 &&
              static_cast<int>(FeatureKind::ints) == 3);

std::string_view to_string(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes: return "bytes";
    case FeatureKind::floats: return "float";
    case FeatureKind::ints: return "int64";
    case FeatureKind::none: break;
  }
  return "empty";
}

std::vector<std::span<const std::byte>> Feature::bytes_values() const {
  std::vector<std::span<const std::byte>> values;
  if (kind != FeatureKind::bytes) return values;
  ProtoReader reader(list, record);
  while (const auto field = next_bytes_field(reader, 1)) values.push_back(field->bytes);
  return values;
}

std::vector<float> Feature::float_values() const {
  std::vector<float> values;
  if (kind != FeatureKind::floats) return values;
  ProtoReader reader(list, record);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (field->number != 1) continue;
    if (field->type == WireType::fixed32) {  // unpacked
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)));
    } else if (field->type == WireType::bytes) {
      ProtoReader packed(field->bytes, record);
      while (!packed.at_end()) values.push_back(packed.float32());
    }
  }
  return values;
}

std::vector<std::int64_t> Feature::int_values() const {
  std::vector<std::int64_t> values;
  if (kind != FeatureKind::ints) return values;
  ProtoReader reader(list, record);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (field->number != 1) continue;
    if (field->type == WireType::varint) {  // unpacked
      values.push_back(static_cast<std::int64_t>(field->value));
    } else if (field->type == WireType::bytes) {
      ProtoReader packed(field->bytes, record);
      while (!packed.at_end()) values.push_back(static_cast<std::int64_t>(packed.varint()));
    }
  }
  return values;
}

std::optional<std::span<const std::byte>> Feature::first_bytes() const {
  if (kind != FeatureKind::bytes) return std::nullopt;
  ProtoReader reader(list, record);
  const std::optional<ProtoField> field = next_bytes_field(reader, 1);
  return field ? std::optional(field->bytes) : std::nullopt;
}

std::optional<std::int64_t> Feature::first_int() const {
  if (kind != FeatureKind::ints) return std::nullopt;
  ProtoReader reader(list, record);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (field->number != 1) continue;
    if (field->type == WireType::varint) return static_cast<std::int64_t>(field->value);
    if (field->type == WireType::bytes && !field->bytes.empty())
      return static_cast<std::int64_t>(ProtoReader(field->bytes, record).varint());
  }
  return std::nullopt;
}

void Example::parse_features(std::span<const std::byte> message,
                             std::span<const std::byte> record) {
  ProtoReader entries(message, record);
  while (const auto entry = next_bytes_field(entries, 1)) {
    std::string_view key;
    Feature feature{.record = record};
    ProtoReader pair(entry->bytes, record);
    while (const std::optional<ProtoField> field = pair.next()) {
      if (field->type != WireType::bytes) continue;
      if (field->number == 1) {
        if (field->bytes.size() > kLongestKey) pair.fail("a key of more than 4096 bytes");
        key = as_text(field->bytes);
      } else if (field->number == 2) {
        feature = parse_feature(field->bytes, record);
      }
    }
    features_.emplace_back(key, feature);
  }
}

void Example::parse(std::span<const std::byte> record) {
  features_.clear();
  is_sequence_ = false;
  ProtoReader reader(record);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (field->type != WireType::bytes)
      reader.fail("field " + std::to_string(field->number) + " that no Example has");
    if (field->number == 1)
      parse_features(field->bytes, record);
    else if (field->number == 2)
      is_sequence_ = true;
  }
}

const Feature* Example::find(std::string_view key) const {
  const Feature* found = nullptr;
  for (const auto& [name, feature] : features_)
    if (name == key) found = &feature;
  return found;
}

std::string Example::describe() const {
  if (features_.empty()) return "no keys at all";
  std::string text;
  for (const auto& [name, feature] : features_) {
    if (text.size() > 400) return text + ", ...";
    text += text.empty() ? "" : ", ";
    for (const char c : name.substr(0, 80)) text += c >= ' ' && c < 127 ? c : '?';
    text += " (" + std::string(to_string(feature.kind)) + ")";
  }
  return text;
}

}  // namespace plimsoll
