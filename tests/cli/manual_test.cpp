// The man page and the completion tell of everything that `help` tells of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

// The first groups of all matches.
std::set<std::string> found(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::set<std::string> words;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    words.insert((*match)[1]);
  return words;
}

std::set<std::string> commands() {
  const std::string help = run_program("--help").output;
  const std::size_t begin = help.find("Subcommands:");
  return found(help.substr(begin, help.find("\n\n", begin) - begin), "\n  ([a-z][a-z-]*) ");
}

std::set<std::string> options_of(const std::string& command) {
  return found(run_program("help " + command).output, "\n  (?:-[a-zA-Z],)?(--[a-z][a-z0-9-]*)");
}

TEST(Manual, HasEveryCommandAndOption) {
  std::string page = run_program("--manual").output;
  page = std::regex_replace(page, std::regex("\\\\-"), "-");
  const std::set<std::string> all = commands();
  EXPECT_GE(all.size(), 6U);
  EXPECT_TRUE(all.contains("top") && all.contains("train"));
  for (const std::string& command : all) {
    const std::size_t begin = page.find(".SS \"plimsoll " + command + " ");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string part = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    const std::set<std::string> options = options_of(command);
    EXPECT_FALSE(options.empty()) << command;
    for (const std::string& option : options)
      EXPECT_NE(part.find("\\fB" + option + "\\fR"), std::string::npos) << command << " " << option;
  }
  for (const char* part : {".TH PLIMSOLL 1", ".SH NAME", ".SH EXIT STATUS", ".SH EXAMPLES"})
    EXPECT_THAT(page, testing::HasSubstr(part));
}

// What bash offers for the last of `words`.
std::set<std::string> offered(const TemporaryFolder& folder, const std::string& words) {
  const std::string script = (folder.path() / "offer").string();
  folder.put("offer", "source " + (folder.path() / "completion").string() + "\nCOMP_WORDS=(" +
                          words + ")\nCOMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n_plimsoll\n" +
                          "printf '<%s>' \"${COMPREPLY[@]}\"\n");
  FILE* pipe = popen(("bash " + script + " 2>&1").c_str(), "r");
  std::string output;
  char piece[4096];
  while (const std::size_t count = fread(piece, 1, sizeof piece, pipe)) output.append(piece, count);
  EXPECT_EQ(pclose(pipe), 0) << output;
  return found(output, "<([^>]+)>");
}

TEST(Completion, OffersEveryCommandAndOption) {
  const TemporaryFolder folder;
  folder.put("completion", run_program("--completion").output);
  const std::set<std::string> all = commands();
  const std::set<std::string> first = offered(folder, "plimsoll ''");
  for (const std::string& command : all) {
    EXPECT_TRUE(first.contains(command)) << command;
    const std::set<std::string> options = offered(folder, "plimsoll " + command + " --");
    for (const std::string& option : options_of(command))
      EXPECT_TRUE(options.contains(option)) << command << " " << option;
  }
  EXPECT_EQ(offered(folder, "plimsoll trai"), std::set<std::string>{"train"});
  EXPECT_EQ(offered(folder, "plimsoll help trai"), std::set<std::string>{"train"});
  // After an option that takes a value bash completes file names: nothing of ours.
  EXPECT_TRUE(offered(folder, "plimsoll train --out --").empty());
}

}  // namespace
}  // namespace plimsoll
