#include "machine/instructions.h"

#include <dnnl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

dnnl_cpu_isa_t limit_of(Isa isa) {
  switch (isa) {
    case Isa::avx2: return dnnl_cpu_isa_avx2;
    case Isa::avx512: return dnnl_cpu_isa_avx512_core;
    case Isa::avx512_bf16: return dnnl_cpu_isa_avx512_core_bf16;
  }
  bug("instructions out of range");
}

Isa isa_of(const std::string& word) {
  if (word.empty()) return best_isa();
  const auto* const found = std::ranges::find(kIsaNames, word);
  if (found == kIsaNames.end())
    throw UsageError({.where = "--isa",
                      .got = "'" + word + "'",
                      .expected = "expected avx2, avx512 or avx512_bf16"});
  const auto isa = static_cast<Isa>(found - kIsaNames.begin());
  if (isa > best_isa())
    throw UsageError(
        {.where = "--isa",
         .got = word + ", which this processor lacks",
         .expected = "expected at most " + std::string(name_of(best_isa())),
         .hint = fmt::format("--isa {} is there; a run that goes on with it rounds sums "
                             "differently, and says so",
                             name_of(best_isa()))});
  return isa;
}

}  // namespace

Isa use_isa(const std::string& word) {
  const Isa isa = isa_of(word);
  // Refused where oneDNN has been at work before: then it must have been as it is now.
  if (dnnl_set_max_cpu_isa(limit_of(isa)) != dnnl_success)
    expect(process_isa() == isa, "instructions are chosen before anything is computed");
  set_process_isa(isa);
  return isa;
}

}  // namespace plimsoll
