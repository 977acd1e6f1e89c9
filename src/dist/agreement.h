// What ranks agree on before they go on together.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/group.h"

namespace plimsoll::dist {

// Something that must be the same on all ranks: the program, its words, the data.
struct Fact {
  std::string name;  // "--threads", "program"
  std::string value;
  bool operator==(const Fact&) const = default;
};

std::string pack_facts(std::span<const Fact> facts);
// DataError, naming `where`, for bytes that are none.
std::vector<Fact> parse_facts(std::string_view bytes, const std::string& where);

// UsageError, by all ranks, that names the first rank whose value differs from that of the most,
// its host and both values. Facts come in the same order everywhere.
void check_same(Group& group, std::span<const Fact> facts, const std::string& hint = {});

// Does `work` on all ranks; with null, here. Where it throws an Error on any of them, all throw
// that of the lowest, of its kind and naming the rank; then Group::is_ending().
void do_on_all(Group* group, const std::function<void()>& work);
// The same, of what `work` makes.
template <class Work>
auto make_on_all(Group* group, const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> made;
  do_on_all(group, [&] { made.emplace(work()); });
  return std::move(*made);
}

}  // namespace plimsoll::dist
