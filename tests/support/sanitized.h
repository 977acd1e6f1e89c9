// Whether a sanitizer watches this build: it owns malloc, holds memory of its own and takes its
// time.
#pragma once

namespace plimsoll {

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif

inline constexpr bool kSanitized = kThreadSanitized || kAddressSanitized;

}  // namespace plimsoll
