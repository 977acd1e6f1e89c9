// How Plimsoll fails: a request that cannot be done is one of the exceptions below. Outcomes that a
// caller must expect are values. A bug of Plimsoll's own ends the process.
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

// What happens when Plimsoll finds a bug of its own, before the process is aborted: it may print,
// write a report, or end the process in its own way.
using BugHandler = void (*)(std::string_view what, const char* file, int line);
// For the whole process; null, as at the start: nothing is said. Returns the one before.
BugHandler set_bug_handler(BugHandler handler);

}  // namespace plimsoll
