#include "cli/rank_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/error.h"
#include "cli/mpirun.h"
#include "cli/options.h"
#include "cli/rank_share.h"
#include "dist/exchange.h"
#include "draw/draw.h"

namespace plimsoll::cli {
namespace {

// Between ranks of one host, as `bench --ranks 2` measures it on a small one.
constexpr const char* kSharedMemory = "12Gbit,90us,1.8%,0.6ns";
constexpr const char* kUsualNetwork = "10Gbit,50us";
constexpr const char* kNetworks[] = {"100Mbit,100us", "1Gbit,50us", "10Gbit,50us", "100Gbit,10us"};

// A rank's step: its parts one behind the other, by the prices of their nodes. Exchanges belong to
// the last, and so do updates.
dist::RankStep step_of(const job::Ready& ready, std::int64_t parts_of_rank) {
  const Tape& tape = ready.trainer.planned().tape(0);
  const Graph& graph = ready.trainer.tapes().graph(0);
  const Problem problem = ready.trainer.tapes().problem(0);
  const double last = ready.run.plan.step_seconds * (1 + ready.run.plan.slowdown_percent / 100);
  std::vector<double> begins;  // of instructions, in seconds of the part
  double at = 0;
  double updates = 0;
  dist::RankStep step;
  for (const Instruction& instruction : tape.instructions) {
    begins.push_back(at);
    const double seconds = problem.nodes()[instruction.node.at()].seconds;
    at += seconds;
    const Phase phase = graph.node(instruction.node).phase;
    if (phase == Phase::backward) step.backward_end = at;
    if (phase == Phase::update) updates += seconds;
  }
  begins.push_back(at);
  const double scale = at > 0 ? last / at : 1;
  const double before = (last - updates * scale) * static_cast<double>(parts_of_rank - 1);
  for (const Exchange& exchange : tape.exchanges) {
    double bytes = 0;
    for (const ValueId sum : graph.node(exchange.node).out)
      bytes += static_cast<double>(graph.spec(sum).bytes());
    const auto begin =
        std::clamp<std::size_t>(static_cast<std::size_t>(exchange.begin), 0, begins.size() - 1);
    step.buckets.push_back({before + begins[begin] * scale, bytes, exchange.gathers});
  }
  step.meetings = static_cast<int>(ready.trainer.step_graph().met_channels.size());
  step.backward_end = before + step.backward_end * scale;
  step.seconds = before + last;
  return step;
}

dist::Fleet fleet_of(int ranks, int hosts, std::int64_t parts, int threads) {
  const dist::Holdings holdings = dist::holdings_of(static_cast<int>(parts), ranks);
  return {.ranks = ranks,
          .hosts = std::min(hosts, ranks),
          .nodes = static_cast<double>(holdings.count()) / ranks,
          .team = static_cast<double>(threads),
          .cores = static_cast<double>(usable_cores())};
}

}  // namespace

void ForecastOptions::add_to(CLI::App& command) {
  begin_group(command, "ranks");
  command.add_option("--ranks", ranks, "as for train: what each of so many processes needs");
  command.add_option("--hosts", hosts, "where they run: how many hosts, or a:2,b:2");
  command
      .add_option("--link", link,
                  "rate and latency of the network between hosts, or what `bench --ranks` prints")
      ->default_str("10Gbit,50us; between ranks of one host shared memory");
  command.add_option("--scaling", picture,
                     "SVG of efficiency over hosts like this one, for three networks");
}

std::string ForecastOptions::link_words() const {
  if (!link.empty()) return link;
  return host_count() > 1 ? kUsualNetwork : kSharedMemory;
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
  dist::parse_link(link_words(), "--link");
  if (!picture.empty() && ranks < 2)
    throw UsageError({.where = "--scaling",
                      .got = "one rank",
                      .expected = "expected several, which exchange sums",
                      .hint = "--accumulate 2 --ranks 2"});
  if (host_count() > ranks)
    throw UsageError({.where = "--hosts",
                      .got = fmt::format("{} hosts for {} ranks", host_count(), ranks),
                      .expected = "expected at least one rank on each"});
}

RankForecast forecast_ranks(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts, int threads) {
  RankForecast found;
  found.hosts = options.host_count();
  found.rank_bytes = ready.run.plan.total_bytes;
  found.host_bytes = found.rank_bytes * options.ranks_of_a_host() + kLauncherBytes;
  const dist::Link link = dist::parse_link(options.link_words(), "--link");
  const auto row = [&](int ranks) {
    const dist::RankStep step = step_of(ready, (parts + ranks - 1) / ranks);
    const dist::Forecast forecast =
        dist::forecast(step, link, fleet_of(ranks, found.hosts, parts, threads));
    found.rows.push_back(
        {ranks, static_cast<double>(ready.run.batch) / forecast.seconds, forecast});
  };
  for (int ranks = 1; ranks < options.ranks; ranks *= 2) row(ranks);
  row(static_cast<int>(options.ranks));
  const Graph& graph = ready.trainer.tapes().graph(0);
  for (const Exchange& exchange : ready.trainer.planned().tape(0).exchanges) {
    for (const ValueId out : graph.node(exchange.node).out)
      (exchange.gathers ? found.gathered : found.exchanged) += graph.spec(out).bytes();
    found.buckets += exchange.gathers ? 0 : 1;
  }
  return found;
}

std::string forecast_text(const RankForecast& found, const ForecastOptions& options) {
  const std::string words = options.link_words();
  const dist::LinkModel model = dist::parse_link(words, "--link").model;
  std::string text = fmt::format(
      "\n{} ranks on {} host{}: {} each, {} a host with mpirun's {}\n"
      "{} are summed over all ranks in a step, in {} buckets{}\n"
      "forecast over {}, {:.0f} % of its rate, times of a rank spread by {:.1f} %:\n"
      "  {:>6}{:>12}{:>12}{:>22}{:>20}\n",
      options.ranks, found.hosts, found.hosts == 1 ? "" : "s", to_string(Bytes{found.rank_bytes}),
      to_string(Bytes{found.host_bytes}), to_string(Bytes{kLauncherBytes}),
      to_string(Bytes{found.exchanged}), found.buckets,
      found.gathered == 0
          ? ""
          : fmt::format("; {} of weights are gathered", to_string(Bytes{found.gathered})),
      words, 100 * model.share, 100 * model.spread, "ranks", "images/s", "efficiency",
      "exposed exchange", "for the slowest");
  const double alone = found.rows.front().images_per_second;
  for (const RankForecast::Row& row : found.rows)
    text += fmt::format("  {:>6}{:>12.1f}{:>10.0f} %{:>20.3f} s{:>18.3f} s\n", row.ranks,
                        row.images_per_second, 100 * row.images_per_second / alone / row.ranks,
                        row.found.exposed, row.found.waiting);
  return text;
}

std::string scaling_picture(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts, int threads, const std::string& title) {
  constexpr int kMostHosts = 1024;
  const auto each = static_cast<int>(options.ranks_of_a_host());
  const std::int64_t parts_of_rank = (parts + options.ranks - 1) / options.ranks;
  const dist::RankStep step = step_of(ready, parts_of_rank);
  double bytes = 0;
  for (const dist::RankStep::Bucket& bucket : step.buckets) bytes += bucket.bytes;
  // Three of them: what sums need who are to be there when backward ends lies among these.
  const double backward = step.backward_end - (step.buckets.empty() ? 0 : step.buckets[0].ready);
  const bool needs_more =
      2 * bytes > backward * dist::parse_link(kNetworks[1], "").bytes_per_second;
  const auto first = std::begin(kNetworks) + (needs_more ? 1 : 0);
  std::vector<std::string> links(first, first + 3);
  const bool has_own = !options.link.empty() && std::ranges::count(links, options.link) == 0;
  if (has_own) links.push_back(options.link);
  draw::Panel panel{
      .title = "speed kept of that alone", .scale = draw::Scale::share, .low = 0, .high = 1};
  for (const std::string& words : links) {
    const dist::Link link = dist::parse_link(words, "--link");
    draw::Series series{.name = words, .dashed = has_own && words == options.link, .dots = true};
    for (int hosts = 1; hosts <= kMostHosts; hosts *= 2) {
      const int ranks = hosts * each;
      const dist::Forecast found =
          dist::forecast(step, link, fleet_of(ranks, hosts, ranks * parts_of_rank, threads));
      series.points.push_back({static_cast<double>(hosts), found.efficiency});
    }
    panel.series.push_back(std::move(series));
  }
  return draw::line_chart_svg(
      {.title = title,
       .subtitle = fmt::format("{} rank{} of {} thread{} a host, {:.3g} s of computing a step, {} "
                               "summed over all",
                               each, each == 1 ? "" : "s", threads, threads == 1 ? "" : "s",
                               step.seconds, to_string(Bytes{static_cast<std::int64_t>(bytes)})),
       .x_name = "hosts",
       .x_scale = draw::Scale::logarithmic,
       .panels = {std::move(panel)}});
}

nlohmann::ordered_json forecast_json(const RankForecast& found) {
  nlohmann::ordered_json json{{"hosts", found.hosts},
                              {"rank_bytes", found.rank_bytes},
                              {"host_bytes", found.host_bytes},
                              {"buckets", found.buckets},
                              {"summed_bytes", found.exchanged},
                              {"gathered_bytes", found.gathered},
                              {"forecast", nlohmann::ordered_json::array()}};
  const double alone = found.rows.front().images_per_second;
  for (const RankForecast::Row& row : found.rows)
    json["forecast"].push_back({{"ranks", row.ranks},
                                {"images_per_second", row.images_per_second},
                                {"efficiency", row.images_per_second / alone / row.ranks},
                                {"compute_seconds", row.found.compute},
                                {"exposed_seconds", row.found.exposed},
                                {"waiting_seconds", row.found.waiting}});
  return json;
}

}  // namespace plimsoll::cli
