// What is installed is enough: the example, built in a clean directory by find_package(plimsoll),
// trains in a budget, is killed, and goes on to the same bytes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kProject = R"(cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(plimsoll REQUIRED)
add_executable(train_folder train_folder.cpp)
target_link_libraries(train_folder PRIVATE plimsoll::plimsoll)
)";

TEST(Installed, ExampleIsBuiltTrainsIsKilledGoesOnToTheSameBytesAndTellsOfAStall) {
  if (kSanitized) GTEST_SKIP() << "what is installed is the release";
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  ASSERT_EQ(run_command("cmake --install " PLIMSOLL_BUILD_DIR " --prefix " + at + "/stage").code,
            0);
  EXPECT_FALSE(std::filesystem::exists(folder / "stage/include/plimsoll/base"))
      << "only what is promised is installed";
  folder.put("outside/CMakeLists.txt", kProject);
  std::filesystem::copy_file(
      std::filesystem::path(PLIMSOLL_TESTS_DIR) / "../examples/train_folder.cpp",
      folder / "outside/train_folder.cpp");
  const Outcome built =
      run_command("cd " + at + "/outside && cmake -S . -B build -DCMAKE_PREFIX_PATH=" + at +
                  "/stage -DCMAKE_CXX_COMPILER=" PLIMSOLL_CXX " && cmake --build build");
  ASSERT_EQ(built.code, 0) << built.output;

  const ImageFolder pictures(2, 40);
  const auto train = [&](const std::string& name, const std::string& before = "") {
    return run_command(
        "cd " + at + " && " + before + at + "/outside/build/train_folder " +
        pictures.folder().path().string() + " 400MiB " + at + "/" + name +
        " model inception_mini image 20 batch 4 optimizer adam lr 0.001 epochs 3 save-every 3 "
        "val-split 0.2");
  };
  const Outcome whole = train("whole");
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_NE(whole.output.find("stopped by epochs"), std::string::npos) << whole.output;
  const std::string last = "/weights/last.safetensors";
  const Outcome killed = train("killed", "env LD_PRELOAD=" PLIMSOLL_FILE_FAULTS
                                         " FAULT_PATH=last.safetensors FAULT_CALLS=m FAULT_DO=kill "
                                         "FAULT_AT=4 ");
  EXPECT_NE(killed.code, 0) << killed.output;
  const Outcome rest = train("killed");
  ASSERT_EQ(rest.code, 0) << rest.output;
  EXPECT_NE(rest.output.find("resuming"), std::string::npos) << rest.output;
  EXPECT_TRUE(content(at + "/killed" + last) == content(at + "/whole" + last));

  const Outcome stalled = train("stalled", "env LD_PRELOAD=" PLIMSOLL_FILE_FAULTS
                                           " FAULT_PATH=c1/03.bmp FAULT_CALLS=r FAULT_AT=3 "
                                           "FAULT_DO=stall FAULT_SECONDS=9 ");
  ASSERT_EQ(stalled.code, 0) << stalled.output;
  EXPECT_NE(stalled.output.find("no progress for"), std::string::npos) << stalled.output;
}

}  // namespace
}  // namespace plimsoll
