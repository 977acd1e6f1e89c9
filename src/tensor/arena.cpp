#include "tensor/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

}  // namespace

Arena::Arena(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw BudgetError({.where = "arena",
                       .got = "the system refused to map " + to_string(Bytes{bytes}) + ": " +
                              std::strerror(errno),
                       .expected = "that much address space",
                       .hint = "look at `ulimit -v` and the container's limits"});
  base_ = static_cast<std::byte*>(memory);
  // Advice only: with huge pages a step takes fewer TLB misses, without them it computes the same.
  if (bytes >= kHugePage) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE) == 0) return;
#endif
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(bytes_));
}

}  // namespace plimsoll
