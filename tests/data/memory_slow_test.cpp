// How much memory reading takes, held against what was said before.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/memory_usage.h"
#include "data/scan/scan.h"
#include "tests/support/image_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// 20,000 names of a dozen images, the largest of 4 megapixels.
class ManyNames {
 public:
  ManyNames() {
    for (unsigned i = 0; i < 12; ++i)
      folder_.put("images/" + std::to_string(i),
                  i == 0 ? bmp_image(2304, 1728, i) : bmp_image(320, 240, i));
    for (int i = 0; i < 20'000; ++i) {
      const fs::path name = folder_.path() / "set" / ("class" + std::to_string(i % 10)) /
                            (std::to_string(i) + ".bmp");
      fs::create_directories(name.parent_path());
      fs::create_hard_link(folder_ / ("images/" + std::to_string(i % 12)), name);
    }
  }
  fs::path path() const { return folder_ / "set"; }

 private:
  TemporaryFolder folder_;
};

// Runs `work` in a process of its own; what it returns there is returned here.
template <typename Work>
std::int64_t in_own_process(const Work& work) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << "5";  // forget the high-water mark of the parent
    const std::int64_t result = work();
    const bool told = ::write(ends[1], &result, sizeof result) == sizeof result;
    ::_exit(told ? 0 : 1);
  }
  std::int64_t result = -1;
  if (::read(ends[0], &result, sizeof result) != sizeof result) result = -1;
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  return result;
}

TEST(DataMemory, StaysWithin96MiBForTwentyThousandImages) {
  const ManyNames names;
  const std::int64_t peak = in_own_process([&] {
    ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    const SourcePtr source = open_source(names.path());
    const ScanReport report = scan(*source, {.pixels = false, .memory = 64_MiB});
    PipelineSettings settings{.batch = 32, .image = {.height = 299, .width = 299}};
    Pipeline pipeline(source, settings, report.largest);
    pipeline.start(0, 0);
    for (int i = 0; i < 60; ++i) pipeline.next();
    return memory_usage().peak().count;
  });
  EXPECT_GT(peak, 10 << 20);
  EXPECT_LT(peak, 96 << 20);
}

TEST(DataMemory, IsNotMoreThanWasSaid) {
  const ManyNames names;
  std::int64_t predicted = 0;
  const auto measure = [&](std::int64_t batches) {
    return in_own_process([&] {
      ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
      const SourcePtr source = open_source(names.path());
      const ScanReport report = scan(*source, {.pixels = false});
      const PipelineSettings settings{
          .batch = 32, .image = {.height = 299, .width = 299}, .workers = 2};
      if (batches < 0)
        return pipeline_bytes(settings, source->index(), report.largest).total().count;
      const std::int64_t before = memory_usage().resident.count;
      Pipeline pipeline(source, settings, report.largest);
      pipeline.start(0, 0);
      for (std::int64_t i = 0; i < batches; ++i) pipeline.next();
      return memory_usage().high_water.count - before;
    });
  };
  predicted = measure(-1);
  const std::int64_t measured = measure(60);
  EXPECT_GT(measured, predicted / 2);
  EXPECT_LE(measured, predicted);
}

}  // namespace
}  // namespace plimsoll
