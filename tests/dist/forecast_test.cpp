#include "dist/forecast.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plimsoll::dist {
namespace {

TEST(Forecast, ReadsLinks) {
  const Link link = parse_link("10Gbit,50us", "--link");
  EXPECT_DOUBLE_EQ(link.bytes_per_second, 1.25e9);
  EXPECT_DOUBLE_EQ(link.latency, 50e-6);
  EXPECT_DOUBLE_EQ(parse_link("100Mbit,2ms", "--link").latency, 2e-3);
  EXPECT_DOUBLE_EQ(parse_link("25Gbit", "--link").bytes_per_second, 3.125e9);
  for (const char* bad :
       {"", "10", "10Gbit,", "10Gbit,50", "-1Gbit", "10GB,5us", "10Gbit,50us,1", "10Gbit,50us,1%",
        "10Gbit,50us,1%,1", "10Gbit,50us,1%,1ns,", "10Gbit,50us,x%,1ns"})
    EXPECT_THROW(parse_link(bad, "--link"), UsageError) << bad;
}

TEST(Forecast, ReadsWhatABenchPrints) {
  const Link link{.bytes_per_second = 1.25e8,
                  .latency = 42e-6,
                  .model = {.share = 1, .spread = 0.015, .work = 0.9e-9}};
  EXPECT_EQ(link_text(link), "1Gbit,42us,1.5%,0.9ns");
  const Link read = parse_link(link_text(link), "--link");
  EXPECT_DOUBLE_EQ(read.bytes_per_second, link.bytes_per_second);
  EXPECT_DOUBLE_EQ(read.latency, link.latency);
  EXPECT_DOUBLE_EQ(read.model.spread, link.model.spread);
  EXPECT_DOUBLE_EQ(read.model.work, link.model.work);
  EXPECT_EQ(read.model.share, 1);
  EXPECT_EQ(parse_link("1Gbit,42us,0%,1ns", "--link").model.spread, 0);
}

// With a core that is free to carry messages.
Fleet fleet(int ranks, int hosts) { return {.ranks = ranks, .hosts = hosts, .cores = 1e9}; }

TEST(Forecast, OneRankIsAsFastAsItIsAlone) {
  const RankStep step{.buckets = {{0.5, 1e8}}, .backward_end = 0.9, .seconds = 1};
  EXPECT_EQ(forecast(step, {1e8, 50e-6}, fleet(1, 1)).efficiency, 1);
}

TEST(Forecast, WhatIsExchangedWhileBackwardRunsCostsNothing) {
  RankStep step{.buckets = {{0.5, 1e6}}, .backward_end = 0.9, .seconds = 1};
  EXPECT_EQ(forecast(step, {1e9, 1e-6}, fleet(2, 2)).exposed, 0);
  step.buckets[0].bytes = 1e9;
  const Forecast exposed = forecast(step, {1e9, 1e-6, {.share = 1}}, fleet(2, 2));
  EXPECT_NEAR(exposed.exposed, 0.5 + 1.0 - 0.9, 1e-3);
}

// 0.2 s behind updates that end at 1 s; behind sums that come 0.6 s late it comes so much later.
TEST(Forecast, WeightsAreGatheredBehindUpdates) {
  RankStep step{.buckets = {{0.5, 1e6}, {0.98, 4e8, true}}, .backward_end = 0.9, .seconds = 1};
  const Link link{1e9, 1e-6, {.share = 1}};
  EXPECT_NEAR(forecast(step, link, fleet(2, 2)).exposed, 0.98 + 0.2 - 1, 1e-3);
  step.buckets[0].bytes = 1e9;
  EXPECT_NEAR(forecast(step, link, fleet(2, 2)).exposed, 0.6 + 0.98 + 0.2 - 1, 1e-3);
}

TEST(Forecast, MoreRanksAreNeverMoreEfficient) {
  const RankStep step{
      .buckets = {{0.4, 4e7}, {0.6, 4e7}, {0.8, 1e7}}, .backward_end = 0.9, .seconds = 1};
  double last = 1;
  for (int ranks = 2; ranks <= 1024; ranks *= 2) {
    const double now = forecast(step, {1.25e8, 50e-6}, fleet(ranks, ranks)).efficiency;
    EXPECT_LT(now, last);
    last = now;
  }
}

// 4 on 2 cores: each computes half of the time, so all are as fast as 2 would be.
TEST(Forecast, RanksThatShareCoresTakeTurns) {
  const RankStep step{.buckets = {}, .backward_end = 0.9, .seconds = 1};
  Fleet crowded{.ranks = 4, .team = 1, .cores = 2};
  const Link link{1e9, 1e-6, {.share = 1, .spread = 0}};
  EXPECT_NEAR(forecast(step, link, crowded).seconds, 2, 1e-5);
  crowded.cores = 4;
  EXPECT_NEAR(forecast(step, link, crowded).seconds, 1, 1e-5);
}

TEST(Forecast, CarryingTakesTimeFromComputingWhereNoCoreIsFree) {
  const RankStep step{.buckets = {{0.5, 1e8}}, .backward_end = 0.9, .seconds = 1};
  const Link link{1e12, 1e-6, {.share = 1, .spread = 0, .work = 1e-9}};
  EXPECT_NEAR(forecast(step, link, {.ranks = 2, .cores = 2}).compute, 1.1, 1e-9);
  EXPECT_EQ(forecast(step, link, {.ranks = 2, .cores = 3}).compute, 1);
}

// Ranks of a host share its link: each of them sends its own.
TEST(Forecast, MoreRanksOnAHostNeedMoreOfItsLink) {
  const RankStep step{.buckets = {{0.5, 1e8}}, .backward_end = 0.5, .seconds = 1};
  const Link link{1e8, 1e-6, {.share = 1, .spread = 0}};
  const double one = forecast(step, link, fleet(2, 2)).exposed;
  const double two = forecast(step, link, fleet(4, 2)).exposed;
  EXPECT_NEAR(one, 1.0, 1e-3);
  EXPECT_NEAR(two, 2.0, 1e-3);
}

// Why sums go directly: as many bytes, and none waits for a round before its own.
TEST(Forecast, HalvingSendsAsManyBytesInMoreRounds) {
  for (int ranks = 2; ranks <= 64; ranks *= 2) {
    const Traffic direct = direct_traffic(4e6, {.ranks = ranks});
    const Traffic halving = halving_traffic(4e6, {.ranks = ranks});
    EXPECT_DOUBLE_EQ(direct.bytes, halving.bytes);
    EXPECT_EQ(direct.rounds, 2);
    EXPECT_GE(halving.rounds, direct.rounds);
    EXPECT_GE(direct.messages, halving.messages);
  }
}

// A step of batch 64 on a P100 at the rate that TensorFlow's table has for it; forward is a third.
// `layers`: megabytes of gradients with the share of backward's time, in its order.
RankStep step_of(double images_per_second, const std::vector<std::pair<double, double>>& layers) {
  RankStep step;
  step.seconds = step.backward_end = 64 / images_per_second;
  double at = step.seconds / 3;
  for (const auto& [megabytes, share] : layers) {
    at += share * step.seconds * 2 / 3;
    step.buckets.push_back({at, megabytes * 1e6});
  }
  return step;
}

// Horovod's published scaling at 512 GPUs, 4 a host, over 25 Gbit/s: 90, 90 and 68 %.
TEST(Forecast, TellsHorovodsPublishedFigures) {
  Link link = parse_link("25Gbit,30us", "--link");
  link.model.work = 3 / 732e9;  // three passes through a P100's memory
  const Fleet gpus{.ranks = 512, .hosts = 128, .cores = 1e9, .adds_on_hosts = true};
  std::vector<std::pair<double, double>> even(16, {0, 1.0 / 16});
  for (auto& [megabytes, share] : even) megabytes = 95.4 / 16;
  EXPECT_NEAR(forecast(step_of(142, even), link, gpus).efficiency, 0.90, 0.03);
  // ResNet-101 between the 219 and 91.8 images/s of ResNet-50 and 152.
  for (auto& [megabytes, share] : even) megabytes = 178.0 / 16;
  EXPECT_NEAR(forecast(step_of(128, even), link, gpus).efficiency, 0.90, 0.03);
  // VGG-16's three dense layers come first, have 90 % of the bytes and 1 % of the time.
  const std::vector<std::pair<double, double>> vgg{{16.4, 0.001}, {67.1, 0.002}, {411, 0.007},
                                                   {28.3, 0.15},  {26, 0.3},     {4, 0.54}};
  EXPECT_NEAR(forecast(step_of(154, vgg), link, gpus).efficiency, 0.68, 0.03);
}

}  // namespace
}  // namespace plimsoll::dist
