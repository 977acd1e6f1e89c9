// Instructions that kernels may use.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plimsoll {

// Each with all before it. The library is compiled for the least of them.
enum class Isa : std::uint8_t {
  avx2,         // with FMA and F16C
  avx512,       // F, BW, DQ, VL
  avx512_bf16,  // products of bf16 as well
};
inline constexpr std::array<std::string_view, 3> kIsaNames{"avx2", "avx512", "avx512_bf16"};
constexpr std::string_view name_of(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

// The most that this processor has.
Isa best_isa();

// What this process uses: the most there is, unless it says something else. machine/instructions.h
// is the way to set it.
Isa process_isa();
void set_process_isa(Isa isa);

}  // namespace plimsoll
