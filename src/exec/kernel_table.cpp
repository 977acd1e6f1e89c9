#include "exec/kernel_table.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "exec/call_text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHead = "plimsoll kernels 1";

std::string key_of(const Graph& graph, const Node& node, const Environment& environment) {
  return fmt::format("{} {} {}", name_of(environment.isa), environment.threads,
                     call_text(graph, node, ImageCount::any));
}

// Takes the first word off the line; empty where there is none.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool is_count(std::string_view word) {
  return !word.empty() && word.size() <= 5 &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

KernelTable KernelTable::parse(std::string_view text, const std::string& source) {
  KernelTable table;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    const auto refuse = [&](const std::string& got, const std::string& expected) {
      throw DataError({.where = fmt::format("{}: line {}", source, number),
                       .got = got,
                       .expected = "expected " + expected,
                       .hint = "`plimsoll bench --tune FILE` writes such files"});
    };
    if (++number == 1) {
      if (line != kHead)
        refuse("no table of kernels", fmt::format("'{}' in the first line", kHead));
      continue;
    }
    if (line.empty()) continue;
    const std::string_view isa = take_word(line), threads = take_word(line);
    std::string_view kernel = take_word(line);
    // As our vector kernels were called when they had one width: runs that began then go on alike.
    if (kernel == "avx2") kernel = "simd";
    if (line.empty() || kernel.empty() || !is_count(threads))
      refuse("a line that is none of a table", "ISA THREADS KERNEL CALL");
    if (!table.kernels_.emplace(fmt::format("{} {} {}", isa, threads, line), kernel).second)
      refuse("a call that has a kernel already", "every call once");
  }
  return table;
}

std::string KernelTable::text() const {
  std::string text = fmt::format("{}\n", kHead);
  for (const auto& [key, kernel] : kernels_) {
    std::string_view call = key;
    const std::string_view isa = take_word(call), threads = take_word(call);
    text += fmt::format("{} {} {} {}\n", isa, threads, kernel, call);
  }
  return text;
}

std::string_view KernelTable::find(const Graph& graph, const Node& node,
                                   const Environment& environment) const {
  const auto found = kernels_.find(key_of(graph, node, environment));
  return found == kernels_.end() ? std::string_view{} : std::string_view{found->second};
}

void KernelTable::set(const Graph& graph, const Node& node, const Environment& environment,
                      std::string_view kernel) {
  kernels_[key_of(graph, node, environment)] = kernel;
}

}  // namespace plimsoll
