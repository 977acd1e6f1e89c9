// How fast so many ranks will train over a link, bucket by bucket, before there are any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::dist {

// What is not known of the machines, each printed beside what follows from it.
struct LinkModel {
  double share = 0.8;     // of the line rate that messages reach
  double spread = 0.028;  // of a rank's times: the slowest of N sets the pace
  double work = 1.0e-9;   // seconds of a processor to carry and add up a byte of a sum
};

struct Link {
  double bytes_per_second = 0;
  double latency = 0;  // seconds, of a message
  LinkModel model = {};
};
// "10Gbit,50us", "25Gbit": a line's rate and latency; or what `bench --ranks` has measured:
// "9.1Gbit,21us,1.5%,0.9ns", with the spread of ranks' times and the work of a byte, all of whose
// rate messages reach. UsageError naming `where`.
Link parse_link(const std::string& text, const char* where);
// The second of these forms.
std::string link_text(const Link& link);

// A step of one rank that waits for nobody.
struct RankStep {
  // Sums in the order they are ready, then updated weights; seconds since the step began.
  struct Bucket {
    double ready = 0;
    double bytes = 0;
    bool gathers = false;  // comes once, where a sum goes and comes back
  };
  std::vector<Bucket> buckets;
  int meetings = 0;         // at which all ranks tell each other some numbers, and wait for them
  double backward_end = 0;  // seconds; what is exchanged until then costs no time of the link
  double seconds = 0;       // with updates
};

// Who trains, and on what.
struct Fleet {
  int ranks = 1;
  int hosts = 1;     // each with a link of its own; one: the link is between its ranks
  double nodes = 1;  // of the tree that a rank holds, on the average
  double team = 1;   // threads of a rank
  double cores = 2;  // of a host
  // Sums of a host are added up there first, as by NCCL; else every rank sends its own.
  bool adds_on_hosts = false;

  double ranks_of_a_host() const { return static_cast<double>(ranks) / hosts; }
  // Threads that share a core, at least 1.
  double crowding() const;
  // Whether the thread that carries messages finds a core that does not compute.
  bool has_core_to_carry() const { return ranks_of_a_host() * team + 1 <= cores; }
};

struct Forecast {
  double seconds = 0;     // of a step
  double compute = 0;     // of it, with the work of carrying where no core is free for that
  double exposed = 0;     // of it, exchanging behind backward and behind updates
  double waiting = 0;     // of it, for the slowest
  double efficiency = 0;  // a step alone / a step of all
};
Forecast forecast(const RankStep& step, const Link& link, const Fleet& fleet);

// What a rank sends to sum `bytes` over all: directly, each slice to who adds it up and back, or by
// halving and doubling.
struct Traffic {
  double bytes = 0;
  double messages = 0;
  double rounds = 0;  // that one waits for the other
};
Traffic direct_traffic(double bytes, const Fleet& fleet);
Traffic halving_traffic(double bytes, const Fleet& fleet);

}  // namespace plimsoll::dist
