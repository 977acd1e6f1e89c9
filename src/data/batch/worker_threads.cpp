#include "data/batch/worker_threads.h"

#include <pthread.h>

#include <csignal>
#include <string>
#include <system_error>

#include "base/error.h"

namespace plimsoll {

WorkerThreads::~WorkerThreads() {
  for (std::thread& thread : threads_) thread.join();
}

int WorkerThreads::start(int count, std::string_view where, const std::function<void(int)>& work) {
  threads_.reserve(static_cast<std::size_t>(count));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string refusal = "none was asked for";
  try {
    for (int i = 0; i < count; ++i) threads_.emplace_back(work, i);
  } catch (const std::system_error& error) {
    refusal = error.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (threads_.empty())
    throw DataError({.where = std::string(where),
                     .got = "cannot start a thread: " + refusal,
                     .expected = "expected at least one",
                     .hint = "see `ulimit -u` and the container's limit of processes"});
  return static_cast<int>(threads_.size());
}

}  // namespace plimsoll
