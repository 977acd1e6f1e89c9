#include "base/error.h"

#include <atomic>
#include <cstdlib>

#include "base/bug_handler.h"

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

std::atomic<BugHandler> bug_handler = nullptr;

}  // namespace

Error::Error(Complaint complaint)
    : std::runtime_error(sentence(complaint)), complaint_(std::move(complaint)) {}

BugHandler set_bug_handler(BugHandler handler) { return bug_handler.exchange(handler); }

void bug(std::string_view what, const char* file, int line) {
  if (const BugHandler handler = bug_handler) handler(what, file, line);
  std::abort();
}

}  // namespace plimsoll
