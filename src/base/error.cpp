#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace plimsoll {
namespace {

std::string sentence(const Complaint& c) {
  std::string text = c.where;
  if (!text.empty()) text += ": ";
  text += c.got;
  if (!c.expected.empty()) text += "; " + c.expected;
  if (!c.hint.empty()) text += "\nhint: " + c.hint;
  return text;
}

}  // namespace

Error::Error(Complaint complaint)
    : std::runtime_error(sentence(complaint)), complaint_(std::move(complaint)) {}

void bug(std::string_view what, const char* file, int line) {
  std::fprintf(stderr, "plimsoll: this is a bug in Plimsoll: %.*s (%s:%d)\n",
               static_cast<int>(what.size()), what.data(), file, line);
  std::abort();
}

}  // namespace plimsoll
