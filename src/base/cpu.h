// What the processor can do and how much of it is ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// Processors the scheduler may put this process on.
int affinity_cores();

// The smallest CPU quota of all control groups this process is in, in processors (1.5 is one and a
// half); nothing if there is none. `root` is "/" but for tests.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Threads worth starting: the smaller of affinity and quota, at least 1. Part of a processor counts
// as one: two threads throttled to 1.5 processors still do the work of 1.5.
int usable_cores();

// What the processor calls itself, with the sizes of its caches: what decides how long a kernel
// takes.
std::string cpu_model();

// Whether the processor and the system run AVX2, FMA and F16C code. The library is compiled for
// them: call this before anything else and from a file compiled without them if in doubt.
bool has_avx2_fma_f16c();

// The same of the AVX-512 that our widest kernels take (F, BW, DQ, VL), and of products of bf16.
bool has_avx512();
bool has_avx512_bf16();

// Whether it works on the 16 floats of AVX-512 in two halves, as Zen 4 does: products then take
// twice as long as those of 8, and what is saved of them pays for more sums and copies.
bool halves_avx512();

inline constexpr std::int64_t kMaxThreads = 1024;

// `threads` as an int; UsageError with `where` as its place unless it is in [1, kMaxThreads].
int check_threads(std::int64_t threads, std::string_view where = "--threads");

}  // namespace plimsoll
