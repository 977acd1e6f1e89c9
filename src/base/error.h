// How Plimsoll fails. Three tiers:
//   1. a request that cannot be done  -> throw one of the Errors below;
//   2. an outcome the caller expects  -> a value (optional, variant, counter);
//   3. a bug of ours                  -> bug(), which aborts. Nothing a user controls may reach it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plimsoll {

// The three parts every message has, and an optional fourth.
//   where: the place (file, line, layer, option)   got: what was found
//   expected: what would have been right           hint: what to do (may be empty)
// `byte`: the one that `where` ends with, for programs; of a picture within a record, the
// picture's.
struct Complaint {
  std::string where;
  std::string got;
  std::string expected;
  std::string hint = {};
  std::optional<std::int64_t> byte = {};
};

// Base of every exception thrown on purpose. what() is "where: got; expected" and, on a second
// line, "hint: ..." where there is one.
class Error : public std::runtime_error {
 public:
  explicit Error(Complaint complaint);
  const Complaint& complaint() const { return complaint_; }

 private:
  Complaint complaint_;
};

// The command line, configuration or network description is wrong (exit code 2).
class UsageError : public Error {
  using Error::Error;
};

// A file or the data in it is bad, or the machine failed to read or write it (exit code 1).
class DataError : public Error {
  using Error::Error;
};

// The request does not fit the memory it was given; nothing was started (exit code 3).
class BudgetError : public Error {
  using Error::Error;
};

// Our own bug: prints `what` with the place and aborts.
[[noreturn]] void bug(std::string_view what, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

// Aborts with `what` unless `condition` holds. For invariants of ours, never for user input.
inline void expect(bool condition, std::string_view what, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  if (!condition) bug(what, file, line);
}

}  // namespace plimsoll
