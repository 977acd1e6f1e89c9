#include "dist/link_probe.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/packed.h"
#include "base/stopwatch.h"
#include "dist/exchange.h"
#include "dist/rank_times.h"

namespace plimsoll::dist {
namespace {

constexpr std::int64_t kSmall = 64;                     // elements: all of it is latency
constexpr std::int64_t kLarge = std::int64_t{1} << 20;  // as the buckets of a run
constexpr int kRounds = 5;
constexpr double kEnough = 4;  // seconds for large ones; two rounds at least

double processor_seconds() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const struct timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Round {
  double seconds = 0;
  double work = 0;  // of processors, here
};

// The slowest and the busiest of all ranks.
Round most_of(Group& group, const Round& mine) {
  std::vector<Round> all(static_cast<std::size_t>(group.ranks()));
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  Round most;
  for (const Round& round : all)
    most = {std::max(most.seconds, round.seconds), std::max(most.work, round.work)};
  return most;
}

// As many buckets as a run has under way, each a part a rank.
std::vector<Round> sum_rounds(Group& group, std::int64_t elements, int buckets) {
  const Holdings holdings = holdings_of(group.ranks(), group.ranks());
  const Staging staging = staging_of({&holdings, 1}, group.rank(), group.ranks(), elements);
  std::vector<float> values(static_cast<std::size_t>(elements), 1);
  TensorCourier courier(group.rank(), group.ranks(), staging);
  const std::vector<Bucket> all(
      static_cast<std::size_t>(buckets),
      {.tensors = {{.elements = elements, .sum = values.data(), .slots = {}}},
       .elements = elements});
  std::vector<Round> rounds;
  group.carry_for(&courier);
  double spent = 0;
  for (int round = 0; round <= kRounds && !courier.has_failed(); ++round) {
    const Stopwatch watch;
    const double before = processor_seconds();
    courier.begin_step(holdings, all);
    for (int bucket = 0; bucket < buckets; ++bucket) courier.post();
    group.wake();
    courier.end_step();
    const Round found = most_of(group, {watch.seconds(), processor_seconds() - before});
    // The first touches everything for the first time. All ranks know the same seconds.
    if (round > 0) rounds.push_back(found);
    spent += found.seconds;
    if (round >= 2 && spent > kEnough) break;
  }
  group.carry_for(nullptr);
  return rounds;
}

double median_of(const std::vector<Round>& rounds, double Round::*which) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(round.*which);
  return values.empty() ? 0 : median(std::move(values));
}

}  // namespace

Link measure_link(Group& group) {
  constexpr int kBuckets = 4;
  const double ranks = group.ranks();
  const double small = median_of(sum_rounds(group, kSmall, kBuckets), &Round::seconds) / kBuckets;
  const std::vector<Round> large = sum_rounds(group, kLarge, kBuckets);
  const double seconds = median_of(large, &Round::seconds) / kBuckets;
  const auto bytes = static_cast<double>(kLarge * std::int64_t{sizeof(float)});
  const double sent = 2 * (ranks - 1) / ranks * bytes;
  Link link{.bytes_per_second = sent / std::max(1e-9, seconds - small),
            .latency = small / 2,
            .model = {.share = 1}};
  link.model.work = median_of(large, &Round::work) / kBuckets / bytes;
  return link;
}

}  // namespace plimsoll::dist
