#include "cli/busy_neighbours.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace plimsoll::cli {

BusyNeighbours::BusyNeighbours(int count, const std::function<void()>& work) {
  std::fflush(nullptr);  // or each would print what waits
  const pid_t parent = ::getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) return;
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (::getppid() == parent) work();
      ::_exit(0);
    }
    pids_.push_back(pid);
  }
}

BusyNeighbours::~BusyNeighbours() {
  for (const pid_t pid : pids_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace plimsoll::cli
