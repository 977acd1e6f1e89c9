// What `plan` tells of several ranks: memory of each and of a host, what they exchange, how fast.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <CLI/CLI.hpp>

#include "dist/forecast.h"
#include "job/ready.h"

namespace plimsoll::cli {

struct ForecastOptions {
  std::int64_t ranks = 1;
  std::string hosts;  // how many, or a:2,b:2
  std::string link;   // empty: a usual one
  std::string picture;

  void add_to(CLI::App& command);
  // UsageError.
  void check(std::int64_t parts) const;
  int host_count() const;
  // The one that was asked for, or else what lies between hosts, or between ranks of one.
  std::string link_words() const;
  std::int64_t ranks_of_a_host() const {
    return (ranks + host_count() - 1) / host_count();
  }  // most
};

struct RankForecast {
  std::int64_t rank_bytes = 0;
  std::int64_t host_bytes = 0;  // of the fullest, mpirun's included
  int hosts = 1;
  std::int64_t buckets = 0;
  std::int64_t exchanged = 0;  // bytes that every rank has summed in a step
  std::int64_t gathered = 0;   // bytes of weights that ranks gather in it
  // Alone, and for twice as many each time up to all.
  struct Row {
    int ranks = 1;
    double images_per_second = 0;
    dist::Forecast found;
  };
  std::vector<Row> rows;
};

// `ready` was planned for rank 0 of so many, each with so many threads, on hosts like this one.
RankForecast forecast_ranks(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts, int threads);
// SVG: how much of their speed hosts keep that train together, each with as many ranks as asked for
// and as many parts, over three usual networks and the link that was asked for.
std::string scaling_picture(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts, int threads, const std::string& title);
std::string forecast_text(const RankForecast& found, const ForecastOptions& options);
nlohmann::ordered_json forecast_json(const RankForecast& found);

}  // namespace plimsoll::cli
