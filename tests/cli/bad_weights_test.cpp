// Files of strangers that are not whole, lie, or mean harm: the program says what is wrong in a
// container of 64 MiB, whatever they claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/cli/program.h"
#include "tests/support/golden_files.h"
#include "tests/support/memory_group.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kContainer = std::int64_t{64} << 20;

class BadWeights : public testing::Test {
 protected:
  // What `import` says in a container of its own.
  static Outcome import(const fs::path& path) {
    const MemoryGroup group(kContainer);
    return run_program("import " + path.string(), group.enter());
  }
  static void expect_refused(const fs::path& path, const std::string& why) {
    const Outcome outcome = import(path);
    EXPECT_EQ(outcome.code, 1) << path << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(why));
    EXPECT_THAT(outcome.output, HasSubstr(path.filename().string()));
  }

  const TemporaryFolder folder_;
};

TEST_F(BadWeights, WhateverIsCutOffIsMissed) {
  const int parts = kSanitized ? 5 : 50;
  for (const char* name : {"interop/adam.h5", "interop/tiny.keras", "interop/tiny.weights.h5",
                           "torch/archive.pth", "torch/old.pth", "tensorflow/v1.ckpt"}) {
    const std::string whole = content(golden_file(name));
    ASSERT_EQ(import(golden_file(name)).code, 0) << name;
    for (int part = 0; part < parts; ++part) {
      const std::size_t size = whole.size() * static_cast<std::size_t>(part) / parts;
      const Outcome outcome = import(folder_.put("cut", whole.substr(0, size)));
      EXPECT_EQ(outcome.code, 1) << name << " up to byte " << size << ": " << outcome.output;
      EXPECT_THAT(outcome.output, HasSubstr("plimsoll: ")) << name << " up to byte " << size;
    }
  }
}

TEST_F(BadWeights, NothingInAPickleIsRun) {
  const fs::path touched = "/tmp/attacked";
  fs::remove(touched);
  expect_refused(golden_file("torch/attack.pth"), "system");
  EXPECT_FALSE(fs::exists(touched));
}

TEST_F(BadWeights, ArchivesThatLeaveTheirFolderRepeatThemselvesOrSwellAreRefused) {
  expect_refused(golden_file("bad/up.keras"), "climbs out of its folder");
  expect_refused(golden_file("bad/absolute.keras"), "an absolute name");
  expect_refused(golden_file("bad/twice.keras"), "a second entry of this name");
  expect_refused(golden_file("bad/bomb.keras"), "it has 100 MiB");
  expect_refused(golden_file("bad/packed.keras"), "it is compressed");
}

TEST_F(BadWeights, LinksThatGoRoundOrElsewhereAreRefused) {
  expect_refused(golden_file("interop/cycle.h5"), "cycle.h5");
  expect_refused(golden_file("interop/external_link.h5"), "link");
  expect_refused(golden_file("interop/soft_link.h5"), "link");
}

TEST_F(BadWeights, DescriptionsThatSwellAreRefused) {
  const std::string begin = R"({"class_name": "Sequential", "config": [0)";
  std::string many = begin;
  for (int i = 0; i < (3 << 20); ++i) many += ",0";
  expect_refused(folder_.put("many.json", many + "]}"), "values");
  std::string objects = begin;
  for (int i = 0; i < (1 << 20); ++i) objects += ",{\"\":{}}";
  expect_refused(folder_.put("objects.json", objects + "]}"), "objects.json");
  expect_refused(folder_.put("long.json", begin + std::string(9 << 20, ' ') + "]}"), "8 MiB");
}

TEST_F(BadWeights, ShapesBeyondTheFileAreNotBelieved) {
  const auto safetensors = [](const std::string& header) {
    std::string file(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(file.data(), &size, sizeof size);
    return file + header + std::string(64, '\0');
  };
  expect_refused(
      folder_.put("huge.safetensors",
                  safetensors(R"({"a/kernel": {"dtype": "F32", "shape": [1000000000, 1000000000],)"
                              R"("data_offsets": [0, 64]}})")),
      "huge.safetensors");
  expect_refused(folder_.put("types.safetensors",
                             safetensors(R"({"a/kernel": {"dtype": "F32", "shape": "large",)"
                                         R"("data_offsets": [0, 64]}})")),
                 "types.safetensors");
}

TEST_F(BadWeights, MissingLayersAreNamedAndNothingIsComputedWithThem) {
  const Outcome told = import(golden_file("bad/headless.keras"));
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(told.output, HasSubstr("head/kernel [3, 2]: (the file has none)"));
  const Outcome refused = run_program("export " + golden_file("bad/headless.keras").string() +
                                      " --to " + (folder_ / "x.onnx").string());
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output, HasSubstr("head/kernel [3, 2]: (the file has none)"));
  EXPECT_FALSE(fs::exists(folder_ / "x.onnx"));
}

}  // namespace
}  // namespace plimsoll
