#include "dist/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "dist/rank_times.h"

namespace plimsoll::dist {
namespace {

constexpr double kPieceBytes = 4 << 20;      // that are exchanged at once
constexpr double kSecondsOfAMessage = 2e-6;  // to post one and see it done

// A number with one of these units behind it.
std::optional<double> quantity(std::string_view text,
                               std::initializer_list<std::pair<std::string_view, double>> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0)) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, scale] : units)
    if (unit == name) return value * scale;
  return std::nullopt;
}

std::optional<Link> find_link(const std::string& text) {
  const std::vector<std::string_view> words = split(text, ',');
  if (words.empty() || words.size() == 3 || words.size() > 4) return std::nullopt;
  const auto seconds = [](std::string_view word) {
    return quantity(word, {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}});
  };
  const std::optional<double> bits =
      quantity(words[0], {{"Gbit", 1e9}, {"Mbit", 1e6}, {"Tbit", 1e12}});
  const std::optional<double> latency = words.size() > 1 ? seconds(words[1]) : 50e-6;
  if (!bits || !latency) return std::nullopt;
  Link link{.bytes_per_second = *bits / 8, .latency = *latency};
  if (words.size() < 4) return link;
  const std::optional<double> spread =
      words[2] == "0%" ? std::optional(0.0) : quantity(words[2], {{"%", 1e-2}});
  const std::optional<double> work = seconds(words[3]);
  if (!spread || !work) return std::nullopt;
  link.model = {.share = 1, .spread = *spread, .work = *work};
  return link;
}

}  // namespace

Link parse_link(const std::string& text, const char* where) {
  const std::optional<Link> link = find_link(text);
  if (!link)
    throw UsageError({.where = where,
                      .got = "'" + text + "'",
                      .expected = "expected a rate and a latency: 10Gbit,50us",
                      .hint = "`plimsoll bench --ranks N` measures one"});
  return *link;
}

std::string link_text(const Link& link) {
  const double bits = 8 * link.bytes_per_second;
  const auto number = [](double value) {
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  };
  return fmt::format("{}{},{}us,{}%,{}ns", number(bits >= 1e9 ? bits * 1e-9 : bits * 1e-6),
                     bits >= 1e9 ? "Gbit" : "Mbit", number(link.latency * 1e6),
                     number(link.model.spread * 100), number(link.model.work * 1e9));
}

double Fleet::crowding() const { return std::max(1.0, ranks_of_a_host() * team / cores); }

Traffic direct_traffic(double bytes, const Fleet& fleet) {
  const double others = fleet.ranks - 1.0;
  const double pieces = std::max(1.0, std::ceil(bytes / kPieceBytes));
  return {.bytes = (fleet.nodes + 1) * others / fleet.ranks * bytes,
          .messages = 2 * others * pieces,
          .rounds = 2 * pieces};
}

Traffic halving_traffic(double bytes, const Fleet& fleet) {
  const double rounds = 2 * std::log2(static_cast<double>(fleet.ranks));
  const double pieces = std::max(1.0, std::ceil(bytes / kPieceBytes));
  return {.bytes = 2 * (fleet.ranks - 1.0) / fleet.ranks * bytes,
          .messages = rounds * pieces,
          .rounds = rounds * pieces};
}

namespace {

// Over the link of a host goes what all of its ranks send to others: how often what one sends.
double shared_link(const Fleet& fleet) {
  if (fleet.hosts <= 1) return 1;
  const double own = fleet.ranks_of_a_host();
  return own * (fleet.ranks - own) / (fleet.ranks - 1.0);
}

double rate_of(const Link& link) { return link.model.share * link.bytes_per_second; }

// Of what is summed up on hosts first.
double apart_from_hosts(const Fleet& fleet) { return (fleet.hosts - 1.0) / fleet.hosts; }

// Seconds that the sum of a bucket takes.
double sum_seconds(double bytes, const Link& link, const Fleet& fleet) {
  if (fleet.adds_on_hosts) {
    const double rounds = 2 * std::log2(static_cast<double>(fleet.ranks));
    return rounds * link.latency + 2 * apart_from_hosts(fleet) * bytes / rate_of(link) +
           bytes * link.model.work;
  }
  const Traffic traffic = direct_traffic(bytes, fleet);
  // What one rank does for a byte is in a rate that was measured.
  const double adding = link.model.share < 1 ? bytes * link.model.work : 0;
  return traffic.rounds * link.latency + (traffic.messages - traffic.rounds) * kSecondsOfAMessage +
         shared_link(fleet) * traffic.bytes / rate_of(link) + adding;
}

// Seconds until all have what each has a shard of.
double gather_seconds(double bytes, const Link& link, const Fleet& fleet) {
  if (fleet.adds_on_hosts)
    return std::log2(static_cast<double>(fleet.ranks)) * link.latency +
           apart_from_hosts(fleet) * bytes / rate_of(link);
  const double pieces = std::max(1.0, std::ceil(bytes / kPieceBytes));
  const double others = fleet.ranks - 1.0;
  return pieces * (link.latency + (others - 1) * kSecondsOfAMessage) +
         shared_link(fleet) * others / fleet.ranks * bytes / rate_of(link);
}

}  // namespace

Forecast forecast(const RankStep& step, const Link& link, const Fleet& fleet) {
  const double crowding = fleet.crowding();
  const double alone = step.seconds * crowding;
  if (fleet.ranks <= 1)
    return {.seconds = alone, .compute = alone, .efficiency = step.seconds / alone};
  const double work = fleet.has_core_to_carry() ? 0 : link.model.work * crowding;
  double free = 0;
  double taken = 0;  // from computing, by carrying
  Forecast found;
  for (const RankStep::Bucket& bucket : step.buckets) {
    if (bucket.gathers) {
      // Updates come when all sums are there.
      free = std::max(bucket.ready * crowding + taken + found.exposed, free) +
             gather_seconds(bucket.bytes, link, fleet);
      continue;
    }
    const double begin = std::max(bucket.ready * crowding + taken, free);
    // What is carried behind backward takes nothing from it.
    if (begin < step.backward_end * crowding + taken) taken += bucket.bytes * work;
    free = begin + sum_seconds(bucket.bytes, link, fleet);
    found.exposed = std::max(0.0, free - (step.backward_end * crowding + taken));
  }
  found.compute = alone + taken;
  found.exposed = std::max(found.exposed, free - found.compute);
  found.waiting = found.compute * link.model.spread * expected_excess(fleet.ranks);
  found.exposed += step.meetings * link.latency;
  // Words before and behind a step.
  constexpr double kWords = 2;
  found.seconds = found.compute + found.waiting + found.exposed + kWords * link.latency;
  found.efficiency = step.seconds / found.seconds;
  return found;
}

}  // namespace plimsoll::dist
