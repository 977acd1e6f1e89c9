// Processes that keep the cores beside this one busy, as other ranks of a host do.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace plimsoll::cli {

class BusyNeighbours {
 public:
  // So many copies of this process do `work` over and over as long as this lives, in memory of
  // their own. Before any team of threads has run; fewer where the system gives no more.
  BusyNeighbours(int count, const std::function<void()>& work);
  ~BusyNeighbours();
  BusyNeighbours(const BusyNeighbours&) = delete;
  BusyNeighbours& operator=(const BusyNeighbours&) = delete;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace plimsoll::cli
