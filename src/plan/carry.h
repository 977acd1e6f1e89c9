// A plan of one graph for another of the same network. Graphs of one network differ in batch, parts
// and updates, so values have other numbers in each; their names are the same.
#pragma once

#include <string>
#include <vector>

#include "plan/problem.h"

namespace plimsoll {

// The fates of the problem's values that are not kept.
NamedFates name_fates(const Problem& problem, const Fates& fates);

struct CarriedFates {
  Fates fates;
  // What is kept instead, because the graph does not have the value, or forward does not make it,
  // or it is too small to have a choice.
  std::vector<std::string> unknown;
  std::vector<std::string> forbidden;  // or because it has no such fate: no 16-bit form

  bool is_whole() const { return unknown.empty() && forbidden.empty(); }
};

// The same fates for the values of `to`.
CarriedFates carry_fates(const NamedFates& fates, const Problem& to);

}  // namespace plimsoll
