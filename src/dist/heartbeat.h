// What ranks hear of each other while none of them has anything to say: who is where, and since
// when nothing was heard of whom.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "dist/transport.h"

namespace plimsoll::dist {

// Where a rank is. Fixed bytes: it is sent as it stands.
struct Beat {
  std::int64_t step = 0;
  std::int64_t resident_bytes = 0;
  std::array<char, 112> doing{};  // "training", "waiting for data: photos/a.jpg"; ends with 0

  void set_doing(std::string_view text);
  std::string doing_text() const;  // what others sent, printable
};

struct Heard {
  int rank = 0;
  Beat beat;
  double seconds_ago = 0;
};

// Every rank sends its beat to rank 0, and rank 0 to rank 1. All but heard() and set() by the
// thread of the transport.
class Heartbeat {
 public:
  void set(const Beat& beat);
  std::vector<Heard> heard() const;
  // Posts and tests what is due; true if something came.
  bool advance(Transport& transport);
  static constexpr double kEvery = 1.0;  // seconds

 private:
  struct Peer {
    int rank = 0;
    Beat incoming;
    std::optional<Transport::Request> request;
    Beat last;
    Stopwatch since;
  };

  mutable std::mutex mutex_;  // guards mine_, and last and since of peers
  Beat mine_;
  std::vector<Peer> peers_;
  bool is_begun_ = false;
  int listener_ = -1;
  Beat outgoing_;
  std::optional<Transport::Request> sending_;
  Stopwatch since_sent_;
};

}  // namespace plimsoll::dist
