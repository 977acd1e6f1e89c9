// Python's pickles (protocols 2 to 5), read as plain data. A pickle is a program for a small stack
// machine that may call anything; here a call is a value that says what would be called, and only
// names from a list may be said at all. Nothing is ever run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// A value by its number in Pickle::values. Values may be shared and may even hold themselves: who
// follows them goes to a fixed depth.
using PickleId = std::uint32_t;

struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,      // integer
    integer,      // integer
    long_number,  // text: little-endian two's complement, for what has more than 64 bits
    real,         // real
    text,         // text, UTF-8 by promise only
    bytes,        // text
    tuple,        // items
    list,         // items; sets too
    dict,         // items: keys and values in turn
    name,         // text: of a class or function, "torch.FloatStorage"
    call,         // text: what is called, arguments; items as of a dict or list it was filled with
    persistent,   // arguments: what the program that wrote it keeps beside the pickle
  };

  Kind kind = Kind::none;
  PickleId arguments = 0;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<PickleId> items;

  bool is_text() const { return kind == Kind::text; }
  bool is_call_of(std::string_view name) const { return kind == Kind::call && text == name; }
};

// Texts are views into the bytes and into the list of names, which must stay alive.
struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  std::size_t size = 0;  // of its bytes; what follows is not part of it

  const PickleValue& operator[](PickleId id) const { return values[id]; }
  const PickleValue& top() const { return values[root]; }
};

// What may be in a pickle and how messages call it.
struct PickleRules {
  std::string where;                        // "model.pth"
  std::int64_t first_byte = 0;              // of the pickle in there
  std::span<const std::string_view> names;  // "collections.OrderedDict"
};

// No more values than this: a state_dict of ten thousand tensors has some 400,000.
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 20;

// DataError with the byte where it is damaged, or with the name that it calls and must not.
Pickle parse_pickle(std::span<const std::byte> bytes, const PickleRules& rules);

}  // namespace plimsoll
