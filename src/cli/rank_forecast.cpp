#include "cli/rank_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/mpirun.h"
#include "cli/options.h"
#include "cli/rank_share.h"

namespace plimsoll::cli {
namespace {

// A rank's step: its parts one behind the other, by the prices of their nodes. Exchanges belong to
// the last.
dist::RankStep step_of(const job::Ready& ready, std::int64_t parts_of_rank) {
  const Tape& tape = ready.trainer.planned().tape(0);
  const Graph& graph = ready.trainer.tapes().graph(0);
  const Problem problem = ready.trainer.tapes().problem(0);
  const double part = ready.run.plan.step_seconds * (1 + ready.run.plan.slowdown_percent / 100);
  std::vector<double> begins;  // of instructions, in seconds of the part
  double at = 0;
  dist::RankStep step;
  for (const Instruction& instruction : tape.instructions) {
    begins.push_back(at);
    at += problem.nodes()[instruction.node.at()].seconds;
    if (graph.node(instruction.node).phase == Phase::backward) step.backward_end = at;
  }
  begins.push_back(at);
  const double scale = at > 0 ? part / at : 1;
  const double before = part * static_cast<double>(parts_of_rank - 1);
  for (const Exchange& exchange : tape.exchanges) {
    double bytes = 0;
    for (const ValueId sum : graph.node(exchange.node).out)
      bytes += static_cast<double>(graph.spec(sum).bytes());
    const auto begin =
        std::clamp<std::size_t>(static_cast<std::size_t>(exchange.begin), 0, begins.size() - 1);
    step.buckets.push_back({before + begins[begin] * scale, bytes});
  }
  step.backward_end = before + step.backward_end * scale;
  step.seconds = before + part;
  return step;
}

}  // namespace

void ForecastOptions::add_to(CLI::App& command) {
  begin_group(command, "ranks");
  command.add_option("--ranks", ranks, "as for train: what each of so many processes needs");
  command.add_option("--hosts", hosts, "where they run: how many hosts, or a:2,b:2");
  command.add_option("--link", link, "rate and latency of the network between hosts")
      ->capture_default_str();
}

int ForecastOptions::host_count() const {
  if (hosts.empty()) return 1;
  int count = 0;
  const auto [end, error] = std::from_chars(hosts.data(), hosts.data() + hosts.size(), count);
  if (error == std::errc() && end == hosts.data() + hosts.size() && count > 0) return count;
  return static_cast<int>(parse_hosts(hosts).size());
}

void ForecastOptions::check(std::int64_t parts) const {
  RankOptions{.ranks = ranks}.check();
  check_parts(ranks, parts);
  dist::parse_link(link, "--link");
  if (host_count() > ranks)
    throw UsageError({.where = "--hosts",
                      .got = fmt::format("{} hosts for {} ranks", host_count(), ranks),
                      .expected = "expected at least one rank on each"});
}

RankForecast forecast_ranks(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts) {
  RankForecast found;
  found.hosts = options.host_count();
  found.rank_bytes = ready.run.plan.total_bytes;
  found.host_bytes = found.rank_bytes * options.ranks_of_a_host() + kLauncherBytes;
  const dist::Link link = dist::parse_link(options.link, "--link");
  const auto row = [&](int ranks) {
    const dist::RankStep step = step_of(ready, (parts + ranks - 1) / ranks);
    const int links = std::max(1, std::min(found.hosts, ranks));
    const dist::Forecast forecast = dist::forecast(step, link, ranks, links);
    found.rows.push_back(
        {ranks, static_cast<double>(ready.run.batch) / forecast.seconds, forecast});
  };
  for (int ranks = 1; ranks < options.ranks; ranks *= 2) row(ranks);
  row(static_cast<int>(options.ranks));
  for (const dist::RankStep::Bucket& bucket : step_of(ready, 1).buckets) {
    ++found.buckets;
    found.exchanged += static_cast<std::int64_t>(bucket.bytes);
  }
  return found;
}

std::string forecast_text(const RankForecast& found, const ForecastOptions& options) {
  const dist::LinkModel model;
  std::string text = fmt::format(
      "\n{} ranks on {} host{}: {} each, {} a host with mpirun's {}\n"
      "{} are summed over all ranks in a step, in {} buckets\n"
      "forecast over {}, {:.0f} % of its rate, times of a rank spread by {:.1f} %:\n"
      "  {:>6}{:>12}{:>12}{:>22}{:>20}\n",
      options.ranks, found.hosts, found.hosts == 1 ? "" : "s", to_string(Bytes{found.rank_bytes}),
      to_string(Bytes{found.host_bytes}), to_string(Bytes{kLauncherBytes}),
      to_string(Bytes{found.exchanged}), found.buckets, options.link, 100 * model.share,
      100 * model.spread, "ranks", "images/s", "efficiency", "exposed exchange", "for the slowest");
  const double alone = found.rows.front().images_per_second;
  for (const RankForecast::Row& row : found.rows)
    text += fmt::format("  {:>6}{:>12.1f}{:>10.0f} %{:>20.3f} s{:>18.3f} s\n", row.ranks,
                        row.images_per_second, 100 * row.images_per_second / alone / row.ranks,
                        row.found.exposed, row.found.waiting);
  return text;
}

nlohmann::ordered_json forecast_json(const RankForecast& found) {
  nlohmann::ordered_json json{{"hosts", found.hosts},
                              {"rank_bytes", found.rank_bytes},
                              {"host_bytes", found.host_bytes},
                              {"buckets", found.buckets},
                              {"summed_bytes", found.exchanged},
                              {"forecast", nlohmann::ordered_json::array()}};
  const double alone = found.rows.front().images_per_second;
  for (const RankForecast::Row& row : found.rows)
    json["forecast"].push_back({{"ranks", row.ranks},
                                {"images_per_second", row.images_per_second},
                                {"efficiency", row.images_per_second / alone / row.ranks},
                                {"exposed_seconds", row.found.exposed},
                                {"waiting_seconds", row.found.waiting}});
  return json;
}

}  // namespace plimsoll::cli
