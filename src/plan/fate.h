// What becomes of a forward value that backward needs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class Fate : std::uint8_t {
  keep,       // stays where it is until its last use
  redo_once,  // forgotten after forward, made again before its first use in backward, then kept
  redo_each,  // forgotten after forward and after every use in backward
  half,       // kept in 16 bits, unpacked for every use in backward; lossy
  spill,      // written to a file after forward, read back before its first use in backward
  half_once,  // kept in 16 bits until its first use in backward, unpacked there, then kept; lossy
};

inline constexpr std::string_view kFateNames[] = {"keep", "redo_once", "redo_each",
                                                  "half", "spill",     "half_once"};

inline constexpr bool is_half(Fate fate) { return fate == Fate::half || fate == Fate::half_once; }

// One per value of a graph; only those of roots that forward makes mean something. Good for that
// graph alone: what leaves plan/ goes by name.
using Fates = std::vector<Fate>;

// The fates of a network's values, whatever graph of it they stand in; values that are not named
// are kept. See carry.h.
using NamedFates = std::map<std::string, Fate, std::less<>>;

}  // namespace plimsoll
