// tf.train.Example: a map from keys to lists of bytes, floats or integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

enum class FeatureKind { none, bytes, floats, ints };

// "bytes", "float", "int64", "empty".
std::string_view to_string(FeatureKind kind);

// A view of one list inside a record. Reading it never copies more than it returns.
struct Feature {
  FeatureKind kind = FeatureKind::none;
  std::span<const std::byte> list;    // the message BytesList, FloatList or Int64List
  std::span<const std::byte> record;  // the whole, for the place of an error

  // The values; DataError with the byte in the record on damage. Of another kind: none.
  std::vector<std::span<const std::byte>> bytes_values() const;
  std::vector<float> float_values() const;
  std::vector<std::int64_t> int_values() const;
  // The first of each; nothing if there is none.
  std::optional<std::span<const std::byte>> first_bytes() const;
  std::optional<std::int64_t> first_int() const;
};

// A parsed record: keys in the order they came. Views into the record, which must outlive it.
class Example {
 public:
  // DataError with the byte on what is no Example. The object can be used again; its memory stays.
  void parse(std::span<const std::byte> record);

  // The record is a SequenceExample: its parts are lists of lists.
  bool is_sequence() const { return is_sequence_; }
  // The last one of that key wins, as in protobuf; nullptr if there is none.
  const Feature* find(std::string_view key) const;
  const std::vector<std::pair<std::string_view, Feature>>& features() const { return features_; }
  // "image/encoded (bytes), image/class/label (int64)": for messages, cut after some hundred bytes.
  std::string describe() const;

 private:
  void parse_features(std::span<const std::byte> message, std::span<const std::byte> record);

  std::vector<std::pair<std::string_view, Feature>> features_;
  bool is_sequence_ = false;
};

}  // namespace plimsoll
