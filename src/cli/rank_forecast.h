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
  std::string link = "10Gbit,50us";

  void add_to(CLI::App& command);
  // UsageError.
  void check(std::int64_t parts) const;
  int host_count() const;
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
  // Alone, and for twice as many each time up to all.
  struct Row {
    int ranks = 1;
    double images_per_second = 0;
    dist::Forecast found;
  };
  std::vector<Row> rows;
};

// `ready` was planned for rank 0 of so many.
RankForecast forecast_ranks(const ForecastOptions& options, const job::Ready& ready,
                            std::int64_t parts);
std::string forecast_text(const RankForecast& found, const ForecastOptions& options);
nlohmann::ordered_json forecast_json(const RankForecast& found);

}  // namespace plimsoll::cli
