// Times are of one machine and one number of threads: another's price nothing here.
#include "exec/kernel_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/cpu.h"
#include "base/random.h"
#include "ops/table.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

Graph one_node() {
  Graph graph(op_table());
  graph.call1("scale", {graph.add_value("x", plain({8}), Role::input)}, {}, "y");
  return graph;
}

class KernelTimesFile : public testing::Test {
 protected:
  KernelTimesFile() {
    KernelTimes times(2);
    times.record(graph_, 0, "simd", 0.25);
    times.record(graph_, 0, "simd", 0.5);
    times.save(folder_.path());
  }
  fs::path file() const { return fs::directory_iterator(folder_.path())->path(); }

  const TemporaryFolder folder_;
  const Graph graph_ = one_node();
};

TEST_F(KernelTimesFile, IsReadAgainByTheSameMachineAndThreads) {
  EXPECT_EQ(KernelTimes::load(folder_.path(), 2).find(graph_, 0, "simd"), 0.25);
  EXPECT_EQ(KernelTimes::load(folder_.path(), 2).find(graph_, 0, "onednn"), std::nullopt);
  EXPECT_EQ(KernelTimes::load(folder_.path(), 1).size(), 0U);
}

TEST_F(KernelTimesFile, IsNamedAfterTheProcessor) {
  const std::string here = fmt::format("{:016x}", fnv1a64(cpu_model()));
  const std::string elsewhere = fmt::format("{:016x}", fnv1a64("another processor"));
  std::string name = file().filename();
  ASSERT_NE(name.find(here), std::string::npos) << name;
  name.replace(name.find(here), here.size(), elsewhere);
  fs::rename(file(), folder_ / name);
  EXPECT_EQ(KernelTimes::load(folder_.path(), 2).size(), 0U);
}

TEST_F(KernelTimesFile, PricesNothingWhereItMakesNoSense) {
  std::ofstream(file()) << "12 -1\n14 1e9\n15 0.5\nnonsense 16 0.5";
  EXPECT_EQ(KernelTimes::load(folder_.path(), 2).size(), 1U);
  EXPECT_EQ(KernelTimes::load(folder_ / "nowhere", 2).size(), 0U);
}

}  // namespace
}  // namespace plimsoll
