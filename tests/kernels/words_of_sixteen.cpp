// Compiled for AVX-512, or by SIMDe where that is there: see tests/CMakeLists.txt.
#if defined(__AVX512F__) || defined(SIMDE_ENABLE_NATIVE_ALIASES)
#include "kernels/simd/sixteen.h"
#define PLIMSOLL_WORDS sixteen
#include "tests/kernels/words.inc"

namespace plimsoll::tests {
std::vector<std::string> wrong_words_of_sixteen() { return sixteen::wrong_words(); }
}  // namespace plimsoll::tests
#else
#include <string>
#include <vector>

namespace plimsoll::tests {
std::vector<std::string> wrong_words_of_sixteen() { return {"not compiled"}; }
}  // namespace plimsoll::tests
#endif
