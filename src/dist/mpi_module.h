// The calls of an MPI library that a run needs, as a module (libplimsoll_mpi) gives them: a run
// with ranks loads it, the program neither links MPI nor needs it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::dist {

// All of them by one thread, the one that called begin().
struct MpiModule {
  static constexpr std::int32_t kVersion = 1;

  std::int32_t version;
  // Joins the ranks that were started together; false: see error().
  bool (*begin)(int* rank, int* ranks);
  // A request; negative: see error().
  std::int32_t (*send)(int to, int tag, const void* bytes, std::int32_t size);
  std::int32_t (*receive)(int from, int tag, void* bytes, std::int32_t size);
  // 1: done, and the request is gone; 0: not yet; negative: see error().
  int (*test)(std::int32_t request);
  // What the last failure was, in MPI's words.
  const char* (*error)();
  void (*abort)(int exit_code);
  // Leaves the others, who leave too.
  void (*end)();
};

// The name of a function `const MpiModule*()` of C in the module.
inline constexpr const char* kMpiModuleEntry = "plimsoll_mpi_module";

}  // namespace plimsoll::dist
