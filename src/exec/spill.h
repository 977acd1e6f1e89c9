// The file that spilled values wait in, and the one thread that moves them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/nameless_file.h"
#include "plan/tape.h"

namespace plimsoll {

// A file without a name, with its space reserved: a full disk is found here. Throws DataError
// naming the directory.
class SpillFile : public NamelessFile {
 public:
  SpillFile(const std::filesystem::path& directory, std::int64_t bytes);
};

// Carries the transfers of one tape at a time, in their order, each after the instruction it must
// follow. Owned by the thread that runs steps, which calls everything here.
class SpillCarrier {
 public:
  explicit SpillCarrier(SpillFile& file);
  ~SpillCarrier();  // waits for the transfer under way
  SpillCarrier(const SpillCarrier&) = delete;
  SpillCarrier& operator=(const SpillCarrier&) = delete;

  // `transfers` and `arena` stay until end_step().
  void begin_step(std::span<const Transfer> transfers, std::byte* arena) noexcept;
  // Instructions [0, done) have run.
  void advance(std::int32_t done) noexcept;
  // Returns when the first `count` transfers are complete.
  void wait_for(std::size_t count) noexcept;
  void end_step() noexcept;
  // What went wrong since the last call, as an error of the system; 0 if nothing.
  int take_error() noexcept;

 private:
  void carry() noexcept;

  SpillFile& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::span<const Transfer> transfers_;  // these are guarded by mutex_
  std::byte* arena_ = nullptr;
  std::int32_t instructions_done_ = 0;
  std::size_t complete_ = 0;
  int error_ = 0;
  bool stop_ = false;
  std::thread thread_;  // last: it sees the others made
};

}  // namespace plimsoll
