// What a check found that its reader should know.
#pragma once

#include <string>

namespace plimsoll::cli {

enum class Severity {
  error,    // a run would fail
  warning,  // a run would go on, and be the worse for it
  note,     // good to know
};

struct Problem {
  Severity severity = Severity::note;
  std::string where;
  std::string what;
  std::string hint;
};

}  // namespace plimsoll::cli
