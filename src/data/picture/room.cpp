#include "data/picture/room.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"

namespace plimsoll {

Room::Room(Bytes size) {
  if (size.count <= 0) return;
  constexpr std::size_t kPage = 4096;
  const std::size_t bytes = (static_cast<std::size_t>(size.count) + kPage - 1) / kPage * kPage;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  size_ = bytes;
}

Room::Room(Room&& other) noexcept { *this = std::move(other); }

Room& Room::operator=(Room&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(used_, other.used_);
  std::swap(most_, other.most_);
  std::swap(last_, other.last_);
  return *this;
}

Room::~Room() {
  if (base_ != nullptr) ::munmap(base_, size_);
}

void* Room::take(std::size_t bytes) noexcept {
  if (bytes > size_ - used_) return nullptr;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > size_ - used_) return nullptr;
  last_ = used_;
  used_ += rounded;
  most_ = std::max(most_, used_);
  return base_ + last_;
}

void* Room::take_or_throw(std::size_t count, std::size_t size) {
  void* memory = count > size_ / size ? nullptr : take(count * size);
  if (memory == nullptr && count > 0) throw std::bad_alloc();
  return memory;
}

void Room::give_back(void* memory) noexcept {
  if (memory == base_ + last_ && last_ < used_) used_ = last_;
}

bool Room::owns(const void* memory) const noexcept {
  const auto* at = static_cast<const std::byte*>(memory);
  return base_ != nullptr && at >= base_ && at < base_ + size_;
}

void Room::rewind(std::size_t used) noexcept {
  expect(used <= used_, "a room that is emptied to more than it holds");
  used_ = used;
  last_ = used;
}

}  // namespace plimsoll
