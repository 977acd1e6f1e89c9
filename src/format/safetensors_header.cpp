#include "format/safetensors_header.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr std::int64_t kLengthBytes = 8;

// Bytes of a tensor, or nothing if they are not a number we can hold.
std::optional<std::int64_t> checked_bytes(const StoredTensor& tensor) {
  // Over all dimensions even after a zero: what overflows in another order is refused in every one.
  std::int64_t bytes = size_of(tensor.type);
  bool empty = false;
  for (const std::int64_t dim : tensor.shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

// Tracks how far the parser has read, for messages.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *seen_ = at_++;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** seen_;
};

// Receives the JSON as events: no tree is built, a name that comes twice is seen, and anything
// deeper or other than the format allows is refused where it stands.
class HeaderEvents : public nlohmann::json_sax<json> {
 public:
  HeaderEvents(std::string_view text, const std::filesystem::path& path)
      : text_(text), path_(path), seen_(text.data()) {}

  SafetensorsHeader parse() {
    const char* const end = text_.data() + text_.size();
    json::sax_parse(CountingIterator(text_.data(), &seen_), CountingIterator(end, &seen_), this);
    return std::move(header_);
  }

  bool start_object(std::size_t /*size*/) override {
    if (place_ == Place::start) return enter(Place::top);
    if (place_ == Place::top_value)
      return enter(key_ == kMetadataName ? Place::metadata : Place::tensor);
    refuse("an object");
  }

  bool key(std::string& name) override {
    key_ = name;
    switch (place_) {
      case Place::top:
        if (!names_.insert(name).second) fail("'" + name + "' is there twice", "expected it once");
        entry_ = {};
        entry_.tensor.name = name;
        has_type_ = has_shape_ = false;
        range_.clear();
        return enter(Place::top_value);
      case Place::metadata:
        if (header_.metadata.contains(name))
          fail("metadata '" + name + "' is there twice", "expected it once");
        return enter(Place::metadata_value);
      case Place::tensor:
        if (name == "dtype" && !has_type_) return enter(Place::type);
        if (name == "shape" && !has_shape_) return enter(Place::shape);
        if (name == "data_offsets" && range_.empty()) return enter(Place::range);
        fail("tensor '" + entry_.tensor.name + "' has an unexpected or second key '" + name + "'",
             "expected dtype, shape and data_offsets");
      default: refuse("a key");
    }
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata_value) {
      header_.metadata.emplace(key_, value);
      return enter(Place::metadata);
    }
    if (place_ != Place::type) refuse("a string");
    const std::optional<ElementType> type = find_element_type(value);
    if (!type)
      fail("tensor '" + entry_.tensor.name + "' has type '" + value + "'",
           "expected one of BOOL U8 I8 F8_E5M2 F8_E4M3 U16 I16 F16 BF16 U32 I32 F32 U64 I64 F64");
    entry_.tensor.type = *type;
    has_type_ = true;
    return enter(Place::tensor);
  }

  bool start_array(std::size_t /*size*/) override {
    if (place_ == Place::shape) return enter(Place::in_shape);
    if (place_ == Place::range) return enter(Place::in_range);
    refuse("an array");
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::in_shape && place_ != Place::in_range) refuse("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail("the number " + std::to_string(value), "expected less than 2^63");
    auto& list = place_ == Place::in_shape ? entry_.tensor.shape : range_;
    if (place_ == Place::in_range && list.size() == 2) refuse("a third offset");
    list.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool end_array() override {
    if (place_ == Place::in_shape) {
      has_shape_ = true;
    } else if (range_.size() != 2) {
      fail("tensor '" + entry_.tensor.name + "' has " + std::to_string(range_.size()) + " offsets",
           "expected two, begin and end");
    }
    return enter(Place::tensor);
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      if (!has_type_ || !has_shape_ || range_.empty())
        fail("tensor '" + entry_.tensor.name + "' is incomplete",
             "expected dtype, shape and data_offsets");
      entry_.begin = range_[0];
      entry_.end = range_[1];
      header_.entries.push_back(std::move(entry_));
    }
    return enter(place_ == Place::top ? Place::end : Place::top);
  }

  bool number_integer(number_integer_t value) override { refuse(std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { refuse(text); }
  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool binary(binary_t& /*value*/) override { refuse("binary"); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ...": the
    // position is ours to give, in bytes of the file.
    const std::string_view what = error.what();
    const std::size_t colon = what.find(": ");
    fail("the header is not JSON (" +
             std::string(colon == std::string_view::npos ? what : what.substr(colon + 2)) + ")",
         "expected a safetensors header");
  }

 private:
  enum class Place {
    start,
    top,
    top_value,
    metadata,
    metadata_value,
    tensor,
    type,
    shape,
    in_shape,
    range,
    in_range,
    end,
  };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  [[noreturn]] void fail(std::string got, std::string expected) const {
    throw DataError({.where = path_.string() + ": byte " +
                              std::to_string(kLengthBytes + (seen_ - text_.data())),
                     .got = std::move(got),
                     .expected = std::move(expected)});
  }

  [[noreturn]] void refuse(const std::string& what) const {
    switch (place_) {
      case Place::start: fail(what, "expected an object");
      case Place::metadata_value: fail(what + " as metadata '" + key_ + "'", "expected a string");
      case Place::in_shape:
      case Place::in_range:
        fail(what + " in '" + key_ + "' of tensor '" + entry_.tensor.name + "'",
             "expected whole numbers that are not negative");
      default: fail(what + " at '" + key_ + "'", "expected what safetensors has there");
    }
  }

  std::string_view text_;
  const std::filesystem::path& path_;
  const char* seen_;
  Place place_ = Place::start;
  std::string key_;
  std::set<std::string, std::less<>> names_;
  HeaderEntry entry_;
  std::vector<std::int64_t> range_;
  bool has_type_ = false;
  bool has_shape_ = false;
  SafetensorsHeader header_;
};

std::string quote(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw UsageError({.where = "safetensors",
                      .got = "a name or value that is not UTF-8",
                      .expected = "expected UTF-8"});
  }
}

std::string length_prefix(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

}  // namespace

std::string make_header(std::span<const StoredTensor> tensors, const Metadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += quote(std::string(kMetadataName)) + ":{";
    for (const auto& [key, value] : metadata) text += quote(key) + ":" + quote(value) + ",";
    text.back() = '}';
  }
  std::set<std::string_view> names;
  std::int64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    const bool reserved = tensor.name == kMetadataName || tensor.name == kChecksumName;
    if ((reserved && &tensor != &tensors.back()) || tensor.name == kMetadataName)
      throw UsageError({.where = "tensor '" + tensor.name + "'",
                        .got = "the name is reserved in safetensors files",
                        .expected = "expected another name"});
    if (!names.insert(tensor.name).second)
      throw UsageError({.where = "tensor '" + tensor.name + "'",
                        .got = "the name is there twice",
                        .expected = "expected names to differ"});
    std::vector<std::string> dims;
    for (const std::int64_t dim : tensor.shape) dims.push_back(std::to_string(dim));
    const std::int64_t end = offset + tensor.bytes();
    if (text.size() > 1) text += ",";
    text += quote(tensor.name) + R"(:{"dtype":")" + std::string(name_of(tensor.type)) +
            R"(","shape":[)" + join(dims, ",") + R"(],"data_offsets":[)" + std::to_string(offset) +
            "," + std::to_string(end) + "]}";
    offset = end;
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return length_prefix(text.size()) + text;
}

SafetensorsHeader parse_header(std::string_view text, std::int64_t payload,
                               const std::filesystem::path& path) {
  if (!text.starts_with('{'))
    throw DataError({.where = path.string() + ": byte " + std::to_string(kLengthBytes),
                     .got = "the header does not start with '{'",
                     .expected = "expected a safetensors file"});
  SafetensorsHeader header = HeaderEvents(text, path).parse();

  std::ranges::sort(header.entries, {}, [](const HeaderEntry& entry) {
    return std::tuple(entry.begin, entry.end, std::string_view(entry.tensor.name));
  });
  std::int64_t next = 0;
  for (const HeaderEntry& entry : header.entries) {
    const std::string where = path.string() + ": tensor '" + entry.tensor.name + "'";
    const std::string range =
        "bytes [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
    if (entry.end < entry.begin || entry.end > payload)
      throw DataError({.where = where,
                       .got = range + " of its data",
                       .expected = "expected a range within the " + std::to_string(payload) +
                                   " bytes that follow the header",
                       .hint = entry.end > payload ? "the file may be cut short" : ""});
    if (entry.begin != next)
      throw DataError({.where = where,
                       .got = range + (entry.begin < next ? " overlap" : " leave a gap after") +
                              " the tensor before",
                       .expected = "expected to begin at " + std::to_string(next)});
    const std::optional<std::int64_t> bytes = checked_bytes(entry.tensor);
    if (bytes != entry.end - entry.begin)
      throw DataError({.where = where,
                       .got = range,
                       .expected = "expected " +
                                   (bytes ? std::to_string(*bytes) : "more than 2^63") +
                                   " bytes by its type " + std::string(name_of(entry.tensor.type)) +
                                   " and shape"});
    next = entry.end;
  }
  if (next != payload)
    throw DataError(
        {.where = path.string(),
         .got = std::to_string(payload) + " bytes follow the header",
         .expected = "expected " + std::to_string(next) + ", where the last tensor ends"});
  return header;
}

}  // namespace plimsoll
