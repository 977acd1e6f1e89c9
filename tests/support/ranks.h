// Ranks as threads of the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "dist/group.h"

namespace plimsoll {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// Runs `body(group)` as every one of `ranks` ranks, each with a host of its own ("h0", "h1", ...),
// and closes the groups of those that return. Returns what each threw; empty for nothing.
inline std::vector<std::string> run_ranks(int ranks,
                                          const std::function<void(dist::Group&)>& body) {
  std::vector<std::unique_ptr<dist::Transport>> transports = dist::make_thread_transports(ranks);
  std::vector<std::string> thrown(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        dist::Group group([&] { return std::move(transports[rank]); }, "h" + std::to_string(rank));
        body(group);
        group.close();
      } catch (const Error& error) {
        thrown[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace plimsoll
