#include "base/isa.h"

#include <atomic>

#include "base/cpu.h"

namespace plimsoll {
namespace {

std::atomic<Isa>& held() {
  static std::atomic<Isa> isa = best_isa();
  return isa;
}

}  // namespace

Isa best_isa() {
  if (has_avx512_bf16()) return Isa::avx512_bf16;
  return has_avx512() ? Isa::avx512 : Isa::avx2;
}

Isa process_isa() { return held(); }
void set_process_isa(Isa isa) { held() = isa; }

}  // namespace plimsoll
