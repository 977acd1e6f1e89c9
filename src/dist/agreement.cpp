#include "dist/agreement.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/packed.h"

namespace plimsoll::dist {
namespace {

enum class Kind : std::uint8_t { none, usage, data, budget };

// What became of a piece of work.
struct Outcome {
  Kind kind = Kind::none;
  Complaint complaint;
};

Outcome outcome_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const UsageError& error) {
    return {Kind::usage, error.complaint()};
  } catch (const DataError& error) {
    return {Kind::data, error.complaint()};
  } catch (const BudgetError& error) {
    return {Kind::budget, error.complaint()};
  } catch (const std::bad_alloc&) {
    return {Kind::budget,
            {.where = "memory",
             .got = "the system has none left",
             .expected = "expected what was planned",
             .hint = "a smaller batch or image needs less"}};
  }
}

std::string pack(const Outcome& outcome) {
  Packer packer;
  packer.put(outcome.kind);
  packer.put_complaint(outcome.complaint);
  return packer.bytes();
}

Outcome parse(std::string_view bytes, const std::string& where) {
  Unpacker unpacker(bytes, where);
  Outcome outcome{.kind = unpacker.take<Kind>(), .complaint = {}};
  if (outcome.kind > Kind::budget) unpacker.fail("an outcome of another version");
  outcome.complaint = unpacker.take_complaint();
  unpacker.end();
  return outcome;
}

// What most ranks tell; of as many, what the lowest of them does.
const std::string& value_of_most(const std::vector<std::vector<Fact>>& told, std::size_t fact) {
  std::map<std::string, int> votes;
  for (const std::vector<Fact>& facts : told) ++votes[facts[fact].value];
  const std::string* most = &told[0][fact].value;
  for (const std::vector<Fact>& facts : told)
    if (votes[facts[fact].value] > votes[*most]) most = &facts[fact].value;
  return *most;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 200;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace

std::string pack_facts(std::span<const Fact> facts) {
  Packer packer;
  packer.put(static_cast<std::uint32_t>(facts.size()));
  for (const Fact& fact : facts) {
    packer.put_text(fact.name);
    packer.put_text(fact.value);
  }
  return packer.bytes();
}

std::vector<Fact> parse_facts(std::string_view bytes, const std::string& where) {
  Unpacker unpacker(bytes, where);
  std::vector<Fact> facts;
  // Each takes some bytes of those that are there, so a count that lies ends soon.
  for (auto left = unpacker.take<std::uint32_t>(); left > 0; --left) {
    const std::string name(unpacker.take_text());
    facts.push_back({name, std::string(unpacker.take_text())});
  }
  unpacker.end();
  return facts;
}

void check_same(Group& group, std::span<const Fact> facts, const std::string& hint) {
  std::vector<std::vector<Fact>> told;
  const std::vector<std::string> texts = group.gather_texts(pack_facts(facts));
  for (int rank = 0; rank < group.ranks(); ++rank) {
    told.push_back(parse_facts(texts[static_cast<std::size_t>(rank)], group.name(rank)));
    bool is_alike = told.back().size() == told[0].size();
    for (std::size_t i = 0; is_alike && i < told[0].size(); ++i)
      is_alike = told.back()[i].name == told[0][i].name;
    if (is_alike) continue;
    group.end_together();
    throw UsageError({.where = group.name(rank),
                      .got = "another version of Plimsoll",
                      .expected = "expected the same program on all ranks"});
  }
  for (std::size_t i = 0; i < told[0].size(); ++i) {
    const std::string& most = value_of_most(told, i);
    for (int rank = 0; rank < group.ranks(); ++rank) {
      const Fact& fact = told[static_cast<std::size_t>(rank)][i];
      if (fact.value == most) continue;
      group.end_together();
      throw UsageError({.where = group.name(rank) + ": " + fact.name,
                        .got = shortened(fact.value),
                        .expected = "expected " + shortened(most) + ", as on other ranks",
                        .hint = hint});
    }
  }
}

void do_on_all(Group* group, const std::function<void()>& work) {
  if (group == nullptr) return work();
  const std::vector<std::string> told = group->gather_texts(pack(outcome_of(work)));
  for (int rank = 0; rank < group->ranks(); ++rank) {
    Outcome outcome = parse(told[static_cast<std::size_t>(rank)], group->name(rank));
    if (outcome.kind == Kind::none) continue;
    group->end_together();
    // What is wrong everywhere is nobody's in particular.
    bool is_everywhere = true;
    for (const std::string& other : told) is_everywhere = is_everywhere && other == told[0];
    if (!is_everywhere)
      outcome.complaint.where = fmt::format("{}: {}", group->name(rank), outcome.complaint.where);
    switch (outcome.kind) {
      case Kind::usage: throw UsageError(std::move(outcome.complaint));
      case Kind::budget: throw BudgetError(std::move(outcome.complaint));
      default: throw DataError(std::move(outcome.complaint));
    }
  }
}

}  // namespace plimsoll::dist
