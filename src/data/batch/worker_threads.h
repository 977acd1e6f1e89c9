// The threads that read data, ended with the object that owns them.
#pragma once

#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace plimsoll {

// For one thread, its owner's.
class WorkerThreads {
 public:
  WorkerThreads() = default;
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  // Waits for all of them; whoever owns this has told them to end.
  ~WorkerThreads();

  // Starts work(0) to work(count - 1), which may not throw, on a thread each. Signals are blocked
  // in them: those are for the threads of whoever uses the library. Where the system gives fewer,
  // fewer will do, from the first on; DataError with `where` if it gives none. Returns how many
  // there are.
  int start(int count, std::string_view where, const std::function<void(int)>& work);

 private:
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll
