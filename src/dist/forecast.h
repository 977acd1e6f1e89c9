// How fast so many ranks will train over a link, bucket by bucket, before there are any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::dist {

struct Link {
  double bytes_per_second = 0;
  double latency = 0;  // seconds, of a message
};
// "10Gbit,50us", "25Gbit". UsageError naming `where`.
Link parse_link(const std::string& text, const char* where);

// A step of one rank that waits for nobody.
struct RankStep {
  // Sums in the order they are ready; seconds since the step began.
  struct Bucket {
    double ready = 0;
    double bytes = 0;
  };
  std::vector<Bucket> buckets;
  double backward_end = 0;  // seconds; what is exchanged until then costs nothing
  double seconds = 0;       // with updates
};

// What is not known of the machines, each printed beside what follows from it.
struct LinkModel {
  double share = 0.8;            // of the line rate that messages reach
  double spread = 0.028;         // of a rank's times: the slowest of N sets the pace
  double add_seconds = 1.0e-10;  // a byte that is added up
};

struct Forecast {
  double seconds = 0;     // of a step
  double exposed = 0;     // of it, exchanging behind backward
  double waiting = 0;     // of it, for the slowest
  double efficiency = 0;  // a step alone / a step of all
};
// Of `ranks` ranks whose messages leave by `links` links (one per host): those of a host are added
// up first.
Forecast forecast(const RankStep& step, const Link& link, int ranks, int links,
                  const LinkModel& model = {});

}  // namespace plimsoll::dist
