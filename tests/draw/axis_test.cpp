#include "draw/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll::draw {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(Scale scale, double low, double high, int wanted = 6) {
  std::vector<std::string> texts;
  for (const Tick& tick : Axis(scale, low, high, 0, 100).ticks(wanted)) texts.push_back(tick.label);
  return texts;
}

TEST(Axis, MarksRoundNumbers) {
  EXPECT_THAT(labels(Scale::linear, 0, 1), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels(Scale::linear, 0.91, 0.97, 3), ElementsAre("0.92", "0.94", "0.96"));
  EXPECT_THAT(labels(Scale::linear, -2, 2, 4), ElementsAre("-2", "-1", "0", "1", "2"));
  EXPECT_THAT(labels(Scale::whole, 1, 3), ElementsAre("1", "2", "3"));
  EXPECT_THAT(labels(Scale::linear, 0, 4e-5, 4), ElementsAre("0", "1e-5", "2e-5", "3e-5", "4e-5"));
  EXPECT_THAT(labels(Scale::share, 0, 1, 4), ElementsAre("0 %", "50 %", "100 %"));
}

TEST(Axis, MarksBytesInOneUnit) {
  EXPECT_THAT(labels(Scale::bytes, 0, 1.3 * (1 << 30)),
              ElementsAre("0", "0.25 GiB", "0.50 GiB", "0.75 GiB", "1.00 GiB", "1.25 GiB"));
  EXPECT_THAT(labels(Scale::bytes, 0, 500 << 20),
              ElementsAre("0", "128 MiB", "256 MiB", "384 MiB"));
}

TEST(Axis, MarksPowersOfTen) {
  EXPECT_THAT(labels(Scale::logarithmic, 1e-6, 1),
              ElementsAre("1e-6", "1e-5", "0.0001", "0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(labels(Scale::logarithmic, 0.1, 1), ElementsAre("0.1", "0.2", "0.5", "1"));
}

TEST(Axis, MendsEndsThatAreNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Scale scale :
       {Scale::linear, Scale::whole, Scale::logarithmic, Scale::bytes, Scale::share})
    for (const auto& [low, high] :
         std::vector<std::pair<double, double>>{{kNan, 1},
                                                {0, 0},
                                                {5, 5},
                                                {3, 1},
                                                {-4, -4},
                                                {1, std::numeric_limits<double>::infinity()},
                                                {1e-310, 1e-310},
                                                {-1e300, 1e300}}) {
      const Axis axis(scale, low, high, 0, 100);
      EXPECT_LT(axis.low(), axis.high());
      EXPECT_LT(axis.ticks().size(), 200U);
      EXPECT_TRUE(std::isfinite(axis.at(axis.high())));
    }
}

TEST(Axis, RunsUpwardsWhenAsked) {
  const Axis axis(Scale::linear, 0, 10, 300, 100);
  EXPECT_EQ(axis.at(0), 300);
  EXPECT_EQ(axis.at(10), 100);
}

TEST(NumberText, DropsDigitsThatSayNothing) {
  EXPECT_EQ(number_text(0.032), "0.032");
  EXPECT_EQ(number_text(1.5e-5), "1.5e-5");
  EXPECT_EQ(number_text(12500), "12500");
  EXPECT_EQ(number_text(2e6), "2e6");
}

}  // namespace
}  // namespace plimsoll::draw
