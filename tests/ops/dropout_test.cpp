#include <gtest/gtest.h>

#include <cmath>

#include "ops/table.h"
#include "tests/support/interpreter.h"

namespace plimsoll {
namespace {

// dropout of ones of shape `spec`, the first of which is sample `first` of the run.
std::vector<double> kept(const Spec& spec, std::int64_t first, const Attrs& attrs,
                         std::int64_t seed = 0) {
  Graph graph(op_table());
  const ValueId x = graph.add_value("x", spec, Role::input);
  const ValueId sample = graph.add_value("sample", plain({2}, DType::i64), Role::input);
  const ValueId y = graph.call1("dropout", {x, sample}, attrs, "drop");
  Interpreter run(graph);
  run.put(x, std::vector<double>(static_cast<std::size_t>(spec.shape.elements()), 1.0));
  run.put(sample, {static_cast<double>(first), static_cast<double>(seed)});
  run.run();
  return run.elements(y);
}

const Attrs kHalf{{"rate", 0.5}, {"key", std::int64_t{1234567890123}}};

TEST(Dropout, ABatchMayBeCutAnywhere) {
  const std::vector<double> whole = kept(blocked(6, 11, 3, 5), 100, kHalf);
  for (std::int64_t cut = 1; cut < 6; ++cut) {
    std::vector<double> parts = kept(blocked(cut, 11, 3, 5), 100, kHalf);
    const std::vector<double> rest = kept(blocked(6 - cut, 11, 3, 5), 100 + cut, kHalf);
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole) << "cut at " << cut;
  }
}

TEST(Dropout, TheLayoutDoesNotDecideWhatIsKept) {
  EXPECT_EQ(kept(plain({3, 11, 3, 5}), 7, kHalf), kept(blocked(3, 11, 3, 5), 7, kHalf));
  EXPECT_EQ(kept(plain({3, 11}), 7, kHalf), kept(blocked(3, 11, 1, 1), 7, kHalf));
}

TEST(Dropout, KeepsTheRightShareAndTheMean) {
  for (double rate : {0.1, 0.5, 0.8}) {
    const std::vector<double> y = kept(plain({50, 2000}), 0, {{"rate", rate}});
    double sum = 0;
    double zeros = 0;
    for (double v : y) {
      sum += v;
      zeros += v == 0;
      EXPECT_TRUE(v == 0 || std::fabs(v - 1 / (1 - rate)) < 1e-6) << v;
    }
    const auto count = static_cast<double>(y.size());
    const double spread = std::sqrt(rate * (1 - rate) / count);
    EXPECT_NEAR(zeros / count, rate, 5 * spread);
    EXPECT_NEAR(sum / count, 1, 5 * spread / (1 - rate));
  }
}

TEST(Dropout, KeysAndSeedsAndSamplesDrawAnew) {
  const Spec spec = plain({1, 400});
  const std::vector<double> first = kept(spec, 0, kHalf);
  const auto differs = [&](const std::vector<double>& other) {
    int changed = 0;
    for (std::size_t i = 0; i < other.size(); ++i) changed += other[i] != first[i];
    return changed > 100;
  };
  EXPECT_TRUE(differs(kept(spec, 1, kHalf)));
  EXPECT_TRUE(differs(kept(spec, 0, {{"rate", 0.5}, {"key", std::int64_t{5}}})));
  EXPECT_TRUE(differs(kept(spec, 0, kHalf, 3)));
}

TEST(Dropout, ARateOfZeroKeepsEverything) {
  EXPECT_EQ(kept(plain({2, 9}), 3, {{"rate", 0.0}}), std::vector<double>(18, 1.0));
}

}  // namespace
}  // namespace plimsoll
