// Messages between the ranks of a run. Made, used and destroyed by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace plimsoll::dist {

class Transport {
 public:
  using Request = std::int32_t;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // The bytes stay as they are until the request is done. Messages of one pair and tag arrive in
  // the order they were posted; a receive is as long as its send. No allocation once warm.
  virtual Request send(int to, int tag, std::span<const std::byte> bytes) = 0;
  virtual Request receive(int from, int tag, std::span<std::byte> bytes) = 0;
  // Whether it is done; then the request is gone. Throws DataError naming the rank that is gone.
  virtual bool test(Request request) = 0;
  // Ends all ranks of the run at once, this process included where ranks are processes.
  virtual void abort(int exit_code) noexcept = 0;
};

// Ranks as threads of one process: element r is rank r's. For tests, and for ranks in one process.
std::vector<std::unique_ptr<Transport>> make_thread_transports(int ranks);

}  // namespace plimsoll::dist
