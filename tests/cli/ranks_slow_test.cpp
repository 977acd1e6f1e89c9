// Several processes for longer, with more threads, and over networks: the same bytes, and no
// growth.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/cli/ranked_runs.h"

namespace plimsoll {
namespace {

class LongRankedRuns : public RankedRuns {
 protected:
  // Words of a run with so many threads a rank.
  std::string with_threads(const std::string& name, int threads, const std::string& more) const {
    std::string all = words(name, more);
    const std::string one = "--threads 1";
    return all.replace(all.find(one), one.size(), "--threads " + std::to_string(threads));
  }
  // Those that rank `rank` holds itself, by the kernel.
  std::int64_t anonymous_kib(const std::string& name, int rank) const {
    const std::string status = content("/proc/" + std::to_string(rank_of(name, rank)) + "/status");
    const std::size_t at = status.find("RssAnon:");
    return at == std::string::npos ? 0 : std::stoll(status.substr(at + 8));
  }
  // Of any weight, relative to the largest of its tensor.
  static double largest_difference(const std::string& a, const std::string& b) {
    std::uint64_t header = 0;
    std::memcpy(&header, a.data(), sizeof header);
    double most = 0;
    const auto tensors = nlohmann::json::parse(a.substr(sizeof header, header));
    for (const auto& [name, tensor] : tensors.items()) {
      if (tensor.value("dtype", "") != "F32") continue;
      const auto begin = tensor["data_offsets"][0].get<std::size_t>();
      const auto end = tensor["data_offsets"][1].get<std::size_t>();
      double off = 0;
      double largest = 1e-3;
      for (std::size_t at = sizeof header + header + begin; at < sizeof header + header + end;
           at += sizeof(float)) {
        float x = 0;
        float y = 0;
        std::memcpy(&x, a.data() + at, sizeof x);
        std::memcpy(&y, b.data() + at, sizeof y);
        off = std::max(off, std::abs(static_cast<double>(x) - static_cast<double>(y)));
        largest = std::max(largest, std::abs(static_cast<double>(x)));
      }
      most = std::max(most, off / largest);
    }
    return most;
  }
  bool reaches_step(const std::string& name, std::int64_t step) const {
    for (int i = 0; i < 12'000; ++i) {
      const std::string text = content(out(name) / "status.json");
      if (nlohmann::json::accept(text) && nlohmann::json::parse(text).value("step", 0) >= step)
        return true;
      ::usleep(50'000);
    }
    return false;
  }
};

TEST_F(LongRankedRuns, TwoThousandStepsTakeNoMoreMemoryThanTheFirst) {
  const Background run(
      words("run", "--accumulate 3 --ranks 3 --epochs 100000 --save-every 100 --early-stop 0"),
      out("log"), launcher());
  ASSERT_TRUE(reaches_step("run", 200)) << content(out("log"));
  std::vector<std::int64_t> before;
  for (int rank = 0; rank < 3; ++rank) before.push_back(anonymous_kib("run", rank));
  ASSERT_TRUE(reaches_step("run", 2200)) << content(out("log"));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_GT(before[static_cast<std::size_t>(rank)], 0);
    // Rank 0 keeps a line for every epoch and a point for every second.
    EXPECT_LT(anonymous_kib("run", rank) - before[static_cast<std::size_t>(rank)], 512) << rank;
  }
}

TEST_F(LongRankedRuns, OfTwoThreadsEachTheyTrainToTheSameBytes) {
  const std::string settings = "--accumulate 2 --steps 24";
  ASSERT_EQ(run_program(with_threads("alone", 2, settings)).code, 0);
  const Outcome outcome = run_program(with_threads("of2", 2, settings + " --ranks 2"), launcher());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(last_weights(out("of2")) == last_weights(out("alone")));
  EXPECT_EQ(lasting_results(out("of2")), lasting_results(out("alone")));
}

// Teams of other sizes add up the weights' gradients in another order.
TEST_F(LongRankedRuns, TwoOfOneThreadAreCloseToOneOfTwo) {
  const std::string settings = "--accumulate 2 --batch 4 --steps 3 --optimizer sgd";
  ASSERT_EQ(run_program(with_threads("one", 2, settings)).code, 0);
  const Outcome outcome = run_program(with_threads("two", 1, settings + " --ranks 2"), launcher());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_LT(largest_difference(last_weights(out("one")), last_weights(out("two"))), 1e-5);
}

TEST_F(LongRankedRuns, OverTcpTheyTrainToTheSameBytes) {
  const std::string settings = "--accumulate 3 --steps 24";
  ASSERT_EQ(train("alone", settings).code, 0);
  for (const int ranks : {2, 3}) {
    const std::string name = "of" + std::to_string(ranks);
    const Outcome outcome =
        train(name, settings, "env OMPI_MCA_btl=tcp,self " + mpirun(ranks).substr(4));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(last_weights(out(name)) == last_weights(out("alone"))) << ranks;
  }
}

// Two network namespaces are two hosts.
TEST_F(LongRankedRuns, OnTwoHostsTheyTrainToTheSameBytes) {
  const std::string settings = "--accumulate 3 --steps 24";
  ASSERT_EQ(train("alone", settings).code, 0);
  const std::string two_hosts = PLIMSOLL_TESTS_DIR "/../bench/two_hosts";
  if (const Outcome hosts = run_command(two_hosts + " 1gbit true"); hosts.code != 0)
    GTEST_SKIP() << hosts.output;
  const std::string program = launcher() + PLIMSOLL_PROGRAM " " +
                              words("two", settings + " --ranks 2 --hosts $HOST_A,$HOST_B");
  const Outcome outcome = run_command(two_hosts + " 1gbit sh -c '" + program + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(last_weights(out("two")) == last_weights(out("alone")));
  EXPECT_EQ(lasting_results(out("two")), lasting_results(out("alone")));
  const auto report = nlohmann::json::parse(content(out("two") / "report.json"));
  EXPECT_NE(report.at("ranks")[0].at("host"), report.at("ranks")[1].at("host"));
}

}  // namespace
}  // namespace plimsoll
