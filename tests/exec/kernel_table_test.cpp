// Tables of kernels: what is written is read again, is obeyed, and never breaks a run.
#include "exec/kernel_table.h"

#include <gtest/gtest.h>

#include "exec/call_text.h"
#include "exec/jobs.h"
#include "exec/kernel_contest.h"
#include "ops/table.h"
#include "tensor/conv_layout.h"
#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

constexpr const char* kHead = "plimsoll kernels 1\n";
const Environment kTwo{.threads = 2};

Graph one_convolution(std::int64_t images) {
  Graph graph(op_table());
  const Spec x = blocked(images, 24, 12, 12);
  graph.call1("conv2d",
              {graph.add_value("x", x, Role::input),
               graph.add_value("w", conv_kernel_spec(x, 32, 3, 3, 1), Role::parameter)},
              {{"pads", Ints{1, 1, 1, 1}}}, "y");
  return graph;
}

std::string_view kernel_by(const KernelTable& table, std::int64_t images,
                           const Environment& environment = kTwo) {
  Graph graph = one_convolution(images);
  return prepare_nodes(graph, {.table = std::make_shared<const KernelTable>(table)}, environment)[0]
      .kernel_name();
}

TEST(KernelTable, IsObeyedWhateverTheNumberOfImages) {
  KernelTable table;
  const Graph graph = one_convolution(4);
  EXPECT_EQ(kernel_by(table, 4), "winograd") << "by the op's own order";
  table.set(graph, graph.nodes()[0], kTwo, "onednn");
  EXPECT_EQ(kernel_by(table, 4), "onednn");
  EXPECT_EQ(kernel_by(table, 9), "onednn");
  EXPECT_EQ(kernel_by(table, 4, {.threads = 1}), "winograd") << "of another number of threads";
}

TEST(KernelTable, IsReadAsItWasWritten) {
  KernelTable table;
  const Graph graph = one_convolution(4);
  table.set(graph, graph.nodes()[0], kTwo, "simd");
  table.set(graph, graph.nodes()[0], {.threads = 1}, "onednn");
  const KernelTable again = KernelTable::parse(table.text(), "here");
  EXPECT_EQ(again.text(), table.text());
  EXPECT_EQ(again.size(), 2U);
  EXPECT_EQ(kernel_by(again, 5), "simd");
}

TEST(KernelTable, OfTheFirstVersionStillNamesOurVectorKernels) {
  KernelTable table;
  const Graph graph = one_convolution(4);
  table.set(graph, graph.nodes()[0], kTwo, "avx2");
  EXPECT_EQ(kernel_by(KernelTable::parse(table.text(), "here"), 5), "simd");
}

TEST(KernelTable, PassesOverKernelsThatDoNotTakeTheCallOrDoNotExist) {
  const Graph graph = one_convolution(1);
  for (const char* kernel : {"no_such_kernel", "winograd"}) {
    KernelTable table;
    table.set(graph, graph.nodes()[0], kTwo, kernel);
    EXPECT_EQ(kernel_by(table, 1), "onednn") << "too few tiles for the other";
  }
}

TEST(KernelTable, RefusesWhatIsNone) {
  for (const auto& [text, complaint] : std::vector<std::pair<std::string, const char*>>{
           {"", "line 1"},
           {"<html>", "line 1"},
           {std::string(kHead) + "avx2 2 winograd\n", "line 2"},
           {std::string(kHead) + "avx2 two winograd conv2d\n", "line 2"},
           {std::string(kHead) + "avx2 999999 winograd conv2d\n", "line 2"},
           {std::string(kHead) + "avx2 2  conv2d\n", "line 2"},
           {std::string(kHead) + "\navx2 2 a conv2d x\navx2 2 b conv2d x\n", "line 4"}})
    EXPECT_COMPLAINT(KernelTable::parse(text, "here"), DataError, complaint);
}

TEST(KernelContest, LetsEveryKernelButTheReferenceRun) {
  const Graph graph = one_convolution(4);
  const std::vector<KernelTime> times = hold_contest(graph, graph.nodes()[0], kTwo, 3);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].kernel->name, "winograd");
  EXPECT_EQ(times[1].kernel->name, "onednn");
  EXPECT_EQ(times[2].kernel->name, "simd");
  for (const KernelTime& time : times) EXPECT_GT(time.seconds, 0) << time.kernel->name;
  EXPECT_GT(times[0].scratch, 0);
}

}  // namespace
}  // namespace plimsoll
