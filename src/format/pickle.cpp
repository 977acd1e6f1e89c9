#include "format/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace plimsoll {
namespace {

using Kind = PickleValue::Kind;

// Opcodes by their letters in Python's pickle.py.
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistent = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kGet = 'h',
  kInst = 'i',
  kLongGet = 'j',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kPut = 'q',
  kLongPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProtocol = 0x80,
  kNewObject = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kShortUnicode = 0x8C,
  kUnicode8 = 0x8D,
  kBytes8 = 0x8E,
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, const PickleRules& rules)
      : bytes_(bytes), rules_(rules) {}

  Pickle run() {
    for (;;) {
      start_ = at_;
      const auto opcode = static_cast<Opcode>(number<std::uint8_t>());
      if (opcode == kStop) break;
      if (!data(opcode) && !filling(opcode) && !order(opcode))
        fail("opcode " + std::to_string(opcode), "expected one that plain data needs");
    }
    pickle_.root = pop();
    pickle_.size = at_;
    return std::move(pickle_);
  }

 private:
  // Opcodes that push a value which they hold themselves.
  bool data(Opcode opcode) {
    switch (opcode) {
      case kNone: push({.kind = Kind::none}); return true;
      case kTrue: push({.kind = Kind::boolean, .integer = 1}); return true;
      case kFalse: push({.kind = Kind::boolean}); return true;
      case kBinInt: push_integer(number<std::int32_t>()); return true;
      case kBinInt1: push_integer(number<std::uint8_t>()); return true;
      case kBinInt2: push_integer(number<std::uint16_t>()); return true;
      case kLong1: push_long(number<std::uint8_t>()); return true;
      case kLong4: push_long(number<std::uint32_t>()); return true;
      case kBinFloat: push_real(); return true;
      case kShortBinString:
      case kShortUnicode: push_text(Kind::text, number<std::uint8_t>()); return true;
      case kBinString:
      case kBinUnicode: push_text(Kind::text, number<std::uint32_t>()); return true;
      case kUnicode8: push_text(Kind::text, number<std::uint64_t>()); return true;
      case kShortBinBytes: push_text(Kind::bytes, number<std::uint8_t>()); return true;
      case kBinBytes: push_text(Kind::bytes, number<std::uint32_t>()); return true;
      case kBytes8:
      case kByteArray8: push_text(Kind::bytes, number<std::uint64_t>()); return true;
      case kEmptyTuple: push({.kind = Kind::tuple}); return true;
      case kEmptyList:
      case kEmptySet: push({.kind = Kind::list}); return true;
      case kEmptyDict: push({.kind = Kind::dict}); return true;
      default: return false;
    }
  }

  // Opcodes that make a value of those on the stack.
  bool filling(Opcode opcode) {
    switch (opcode) {
      case kTuple: push_items(Kind::tuple, take_marked()); return true;
      case kFrozenSet: push_items(Kind::list, take_marked()); return true;
      case kTuple1: push_items(Kind::tuple, take(1)); return true;
      case kTuple2: push_items(Kind::tuple, take(2)); return true;
      case kTuple3: push_items(Kind::tuple, take(3)); return true;
      case kAppend: append(take(1)); return true;
      case kAppends:
      case kAddItems: append(take_marked()); return true;
      case kSetItem: append_pairs(take(2)); return true;
      case kSetItems: append_pairs(take_marked()); return true;
      case kGlobal: {
        const std::string_view module = line();
        push_name(module, line());
        return true;
      }
      case kStackGlobal: {
        const std::string_view name = pop_text();
        push_name(pop_text(), name);
        return true;
      }
      case kReduce:
      case kNewObject: call(); return true;
      case kBinPersistent: push({.kind = Kind::persistent, .arguments = pop()}); return true;
      // Attributes of what was made: a state_dict has only notes about versions there.
      case kBuild: pop(), top(); return true;
      default: return false;
    }
  }

  // Opcodes that only move values.
  bool order(Opcode opcode) {
    switch (opcode) {
      case kProtocol:
        if (const int protocol = number<std::uint8_t>(); protocol < 2 || protocol > 5)
          fail("protocol " + std::to_string(protocol), "expected 2 to 5");
        return true;
      case kFrame: number<std::uint64_t>(); return true;
      case kMark: marks_.push_back(stack_.size()); return true;
      case kPop:
        if (!marks_.empty() && marks_.back() == stack_.size())
          marks_.pop_back();
        else
          pop();
        return true;
      case kPopMark: take_marked(); return true;
      case kDup: stack_.push_back(top()); return true;
      case kPut: remember(number<std::uint8_t>()); return true;
      case kLongPut: remember(number<std::uint32_t>()); return true;
      case kMemoize: remember(memo_.size()); return true;
      case kGet: recall(number<std::uint8_t>()); return true;
      case kLongGet: recall(number<std::uint32_t>()); return true;
      case kInst: {
        const std::string_view module = line();
        refuse_name(module, line());
      }
      default: return false;
    }
  }

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view raw(std::uint64_t size) {
    if (size > bytes_.size() - at_)
      fail(std::to_string(size) + " bytes where " + std::to_string(bytes_.size() - at_) +
               " are left",
           "expected a whole pickle", "the file is cut short, or damaged");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_,
                                bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("a name that does not end", "expected a whole pickle");
    return raw(end + 1).substr(0, end);
  }

  void push(PickleValue value) {
    if (pickle_.values.size() >= kMaxPickleValues)
      fail("more than " + std::to_string(kMaxPickleValues) + " values", "expected a state_dict");
    stack_.push_back(static_cast<PickleId>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void push_integer(std::int64_t value) { push({.kind = Kind::integer, .integer = value}); }
  void push_real() {  // the one number that is big-endian
    const std::uint64_t bits = __builtin_bswap64(number<std::uint64_t>());
    push({.kind = Kind::real, .real = std::bit_cast<double>(bits)});
  }
  void push_text(Kind kind, std::uint64_t size) { push({.kind = kind, .text = raw(size)}); }
  void push_items(Kind kind, std::vector<PickleId> items) {
    push({.kind = kind, .items = std::move(items)});
  }
  void push_long(std::uint64_t size) {
    const std::string_view digits = raw(size);
    if (size > sizeof(std::int64_t)) {
      push({.kind = Kind::long_number, .text = digits});
      return;
    }
    // The last byte has the sign.
    std::uint64_t value = size > 0 && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(digits[i]);
    push_integer(static_cast<std::int64_t>(value));
  }

  void push_name(std::string_view module, std::string_view name) {
    for (const std::string_view known : rules_.names)
      if (known.size() == module.size() + 1 + name.size() && known.starts_with(module) &&
          known[module.size()] == '.' && known.ends_with(name)) {
        push({.kind = Kind::name, .text = known});
        return;
      }
    refuse_name(module, name);
  }
  [[noreturn]] void refuse_name(std::string_view module, std::string_view name) {
    constexpr std::size_t kShown = 80;
    fail(
        "it calls " + printable(module.substr(0, kShown)) + "." + printable(name.substr(0, kShown)),
        "expected nothing but tensors, numbers and texts; nothing in a file is run here",
        "if you trust it, save its state_dict() with the program that wrote it");
  }
  static std::string printable(std::string_view text) {
    std::string shown(text);
    std::ranges::replace_if(
        shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown;
  }

  void call() {
    const PickleId arguments = pop();
    const PickleValue& callee = value(pop());
    if (callee.kind != Kind::name || value(arguments).kind != Kind::tuple)
      fail("a call of what is no name, or without arguments", "expected a function's name");
    push({.kind = Kind::call, .arguments = arguments, .text = callee.text});
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId top() {
    if (stack_.size() <= floor()) fail("an empty stack", "expected a value");
    return stack_.back();
  }
  PickleId pop() {
    const PickleId id = top();
    stack_.pop_back();
    return id;
  }
  std::string_view pop_text() {
    const PickleValue& name = value(pop());
    if (!name.is_text()) fail("a name that is no text", "expected a name");
    return name.text;
  }
  std::vector<PickleId> take(std::size_t count) {
    if (stack_.size() - floor() < count) fail("an empty stack", "expected a value");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleId> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return items;
  }
  std::vector<PickleId> take_marked() {
    if (marks_.empty()) fail("no mark", "expected one on the stack");
    std::vector<PickleId> items = take(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  void append(const std::vector<PickleId>& items) {
    PickleValue& list = value(top());
    if (list.kind != Kind::list && list.kind != Kind::call)
      fail("items for what is no list", "expected a list");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void append_pairs(const std::vector<PickleId>& items) {
    PickleValue& dict = value(top());
    if ((dict.kind != Kind::dict && dict.kind != Kind::call) || items.size() % 2 != 0)
      fail("keys and values for what is no dict", "expected a dict");
    dict.items.insert(dict.items.end(), items.begin(), items.end());
  }

  // Python numbers memos from 0 without gaps; a gap here could only be there to take memory.
  void remember(std::size_t memo) {
    const PickleId id = top();
    if (memo > memo_.size() + kMemoGap) fail("memo " + std::to_string(memo), "expected the next");
    if (memo >= memo_.size()) memo_.resize(memo + 1);
    memo_[memo] = id;
  }
  void recall(std::size_t memo) {
    if (memo >= memo_.size() || !memo_[memo])
      fail("memo " + std::to_string(memo) + ", which holds nothing", "expected an earlier value");
    stack_.push_back(*memo_[memo]);
  }

  PickleValue& value(PickleId id) { return pickle_.values[id]; }

  [[noreturn]] void fail(std::string got, std::string expected, std::string hint = "") const {
    const std::int64_t byte = rules_.first_byte + static_cast<std::int64_t>(start_);
    throw DataError({.where = rules_.where + ": byte " + std::to_string(byte),
                     .got = std::move(got),
                     .expected = std::move(expected),
                     .hint = std::move(hint),
                     .byte = byte});
  }

  static constexpr std::size_t kMemoGap = 16;

  std::span<const std::byte> bytes_;
  const PickleRules& rules_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  // of the current opcode
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::optional<PickleId>> memo_;
};

}  // namespace

Pickle parse_pickle(std::span<const std::byte> bytes, const PickleRules& rules) {
  return Machine(bytes, rules).run();
}

}  // namespace plimsoll
