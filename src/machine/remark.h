// What a check found that its reader should know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace plimsoll {

enum class Severity {
  error,    // a run would fail
  warning,  // a run would go on, and be the worse for it
  note,     // good to know
};

constexpr std::string_view name_of(Severity severity) {
  constexpr std::string_view kNames[] = {"error", "warning", "note"};
  return kNames[static_cast<int>(severity)];
}

struct Remark {
  Severity severity = Severity::note;
  std::string where;
  std::string what;
  std::string hint;
  std::optional<std::int64_t> byte = {};  // of the file, where it is known
};

// What would end a run, as a remark.
inline Remark to_remark(const Complaint& complaint) {
  return {.severity = Severity::error,
          .where = complaint.where,
          .what = complaint.got + (complaint.expected.empty() ? "" : "; " + complaint.expected),
          .hint = complaint.hint,
          .byte = complaint.byte};
}

}  // namespace plimsoll
