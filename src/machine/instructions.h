// The instructions that kernels of this process use, ours and oneDNN's.
#pragma once

#include <string>

#include "base/isa.h"

namespace plimsoll {

// Sets them for the whole process, by the word of --isa ("avx2", "avx512", "avx512_bf16"; empty:
// the most that this processor has) and returns them. oneDNN looks at its limit once: call this
// before anything is computed or asked of it, and not with another word later. UsageError for a
// word that is none and for what this processor lacks.
Isa use_isa(const std::string& word);

}  // namespace plimsoll
