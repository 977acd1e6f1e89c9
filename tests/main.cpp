// Runs all tests, or with --file=base/bytes_test.cpp those of one source file.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/bug_handler.h"

namespace {

// A GoogleTest filter of every test written in `file` (relative to tests/); empty if none is.
std::string filter_of_file(std::string_view file) {
  const std::string tail = "/" + std::string(file);
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!std::string_view(test.file()).ends_with(tail)) continue;
      filter += std::string(test.test_suite_name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  plimsoll::set_bug_handler([](std::string_view what, const char* file, int line) {
    std::fprintf(stderr, "%.*s (%s:%d)\n", static_cast<int>(what.size()), what.data(), file, line);
  });
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kOption = "--file=";
    if (!argument.starts_with(kOption)) {
      std::fprintf(stderr, "unknown argument %s; expected --file=FOLDER/NAME_test.cpp\n", argv[i]);
      return 2;
    }
    const std::string filter = filter_of_file(argument.substr(kOption.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "no test in %s\n", argv[i]);
      return 2;
    }
    testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
