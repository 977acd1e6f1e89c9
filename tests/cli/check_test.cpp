// The doctor, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Check : public testing::Test {
 protected:
  Outcome check(const std::string& arguments) const {
    return run_program("check --model inception_mini --out " + out_.path().string() + " " +
                       arguments);
  }

  TemporaryFolder out_;
};

TEST_F(Check, OfTheMachineAloneTellsWhatARunMayHave) {
  const Outcome outcome = check("");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* word : {"processor", "memory", "swap", "disk", "/dev/shm", "open files", "clock",
                           "The machine is ready for a run"})
    EXPECT_THAT(outcome.output, HasSubstr(word));
  EXPECT_TRUE(fs::is_empty(out_.path()));  // what was written to measure the disk is gone
}

TEST_F(Check, OfGoodDataSaysThatARunWouldWork) {
  const ImageFolder images(2, 5);
  const Outcome outcome = check(images.folder().path());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("10 samples in 10 files"));
  EXPECT_THAT(outcome.output, HasSubstr("10 BMP"));
  EXPECT_THAT(outcome.output, HasSubstr("A run would work."));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));  // no terminal, no bar
}

TEST_F(Check, OfBadFilesNamesAllOfThemAndFails) {
  const ImageFolder images(2, 5);
  fs::resize_file(images.file(0, 1), 60);
  fs::resize_file(images.file(1, 2), 0);
  const Outcome outcome = check(images.folder().path());
  EXPECT_EQ(outcome.code, 1);
  for (const char* text :
       {"c0/01.bmp", "c1/02.bmp",
        "A run would fail: 2 errors to mend, or to leave out with --bad-files skip."})
    EXPECT_THAT(outcome.output, HasSubstr(text));
}

TEST_F(Check, OfBadFilesShowsOnlyTheGoodOnesAsPictures) {
  const ImageFolder images(2, 2);
  fs::resize_file(images.file(1, 1), 60);
  const fs::path look = out_ / "look";
  EXPECT_EQ(check(images.folder().path().string() + " --pictures " + look.string()).code, 1);
  const std::string page = read_file(look / "index.html", 1_MiB);
  EXPECT_THAT(page, HasSubstr("<h2>Cannot be read</h2>"));
  EXPECT_THAT(page, HasSubstr("c1/01.bmp: byte 60"));
  EXPECT_TRUE(fs::exists(look / "sample2.png"));
  EXPECT_FALSE(fs::exists(look / "sample3.png"));
}

TEST_F(Check, GivesJsonWithTheKeysOfTheContract) {
  const ImageFolder train(2, 5);
  const TemporaryFolder folder;
  folder.put("c1/copy.bmp", bmp_image(16, 12, 0));
  fs::resize_file(train.file(0, 1), 60);
  fs::copy_file(train.file(1, 1), folder / "c1/leak.bmp");
  const Outcome outcome =
      check(train.folder().path().string() + " --json --val " + folder.path().string());
  EXPECT_EQ(outcome.code, 1);
  const nlohmann::json json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["ok"], false);
  EXPECT_GE(json["machine"]["usable_cores"], 1);
  EXPECT_EQ(json["data"]["samples"], 10);
  EXPECT_EQ(json["data"]["bad"], 1);
  EXPECT_EQ(json["val"]["samples"], 2);
  bool told_leak = false;
  for (const auto& problem : json["problems"]) {
    for (const char* key : {"severity", "where", "what", "hint"})
      EXPECT_TRUE(problem.contains(key));
    told_leak = told_leak || problem["what"].get<std::string>().find("also in the training") !=
                                 std::string::npos;
  }
  EXPECT_TRUE(told_leak);
}

TEST_F(Check, MakesThePlanThatTrainMakes) {
  const ImageFolder images(3, 12);
  const ImageFolder validation(3, 7);
  const std::string words = images.folder().path().string() + " --batch 8 --threads 1 --val " +
                            validation.folder().path().string();
  for (const char* more : {"", " --memory 60MiB", " --ema 0.9 --optimizer adam"}) {
    const Outcome checked = check(words + more + " --json");
    EXPECT_EQ(checked.code, 0) << checked.output;
    const TemporaryFolder folder;
    const Outcome trained = run_program("train --model inception_mini --steps 1 --out " +
                                        (folder / "run").string() + " " + words + more);
    EXPECT_EQ(trained.code, 0) << trained.output;
    const auto report = nlohmann::json::parse(read_file(folder / "run/report.json", 1_MiB));
    EXPECT_EQ(nlohmann::json::parse(checked.output)["plan"]["total_bytes"],
              report["predicted_bytes"]);
  }
  const std::string split =
      images.folder().path().string() + " --batch 8 --threads 1 --val-split 0.25";
  const Outcome planned = run_program("plan --model inception_mini --json " + split);
  EXPECT_EQ(nlohmann::json::parse(check(split + " --json").output)["plan"]["total_bytes"],
            nlohmann::json::parse(planned.output)["total_bytes"]);
}

TEST_F(Check, OfARunThatDoesNotFitSaysWhatTrainWouldSay) {
  const ImageFolder images(2, 20);
  const std::string words = images.folder().path().string() + " --batch 32 --memory 30MiB";
  const Outcome checked = check(words);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.output, HasSubstr("A run would fail: 1 error to mend."));
  const Outcome trained =
      run_program("train --model inception_mini --out " + (out_ / "run").string() + " " + words);
  EXPECT_EQ(trained.code, 3);
  const std::size_t begin = trained.output.find("budget 30 MiB (--memory): ");
  ASSERT_NE(begin, std::string::npos) << trained.output;
  const std::string said = trained.output.substr(begin, trained.output.find('\n', begin) - begin);
  EXPECT_THAT(checked.output, HasSubstr(said));
  const auto json = nlohmann::json::parse(check(words + " --json").output);
  EXPECT_EQ(json["plan"]["fits"], false);
  EXPECT_THAT(json["plan"]["reason"], HasSubstr("the smallest plan needs"));
}

TEST_F(Check, OfWhatIsNotThereSaysWhatCouldBe) {
  const Outcome outcome = check("/no/such/place");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("/no/such/place: there is no such file or folder"));
  // A variable that was never set is no wish to look at the machine alone.
  const Outcome nothing = check("''");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.output, HasSubstr("nothing is named"));
}

TEST_F(Check, WritesAPageOfPicturesWithTheirBoxes) {
  const TemporaryFolder folder;
  folder.put("set/x.record", framed(ExampleText()
                                        .bytes("image/encoded", {bmp_image(300, 200, 1)})
                                        .floats("image/object/bbox/xmin", {0.25F, 0.5F})
                                        .floats("image/object/bbox/xmax", {0.75F, 0.5F})
                                        .floats("image/object/bbox/ymin", {0, 0.5F})
                                        .floats("image/object/bbox/ymax", {0.5F, 0.5F})
                                        .bytes("image/object/class/text", {"<cat> & dog", ""})
                                        .ints("image/object/class/label", {1, 1})
                                        .text()));
  const Outcome outcome =
      check((folder / "set").string() + " --pictures " + (folder / "look").string());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = read_file(folder / "look/index.html", 1_MiB);
  EXPECT_THAT(page, HasSubstr("x=\"0.2500\" y=\"0.0000\" width=\"0.5000\" height=\"0.5000\""));
  // One without area is drawn all the same.
  EXPECT_THAT(page, HasSubstr("x=\"0.5000\" y=\"0.5000\" width=\"0.0200\" height=\"0.0200\""));
  EXPECT_THAT(page, HasSubstr("&lt;cat&gt; &amp; dog"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("only one class")));  // which will do for boxes
  const std::string picture = read_file(folder / "look/sample0.png", 1_MiB);
  EXPECT_EQ(probe_image(std::as_bytes(std::span(picture)), "png").width, 224);
}

TEST_F(Check, WithoutProcSaysWhatItCouldNotLookAt) {
  const std::string hide = "unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh ";
  if (std::system((hide + "true 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  const Outcome outcome = run_program("check --threads 1 --out " + out_.path().string(), hide);
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("/proc: it cannot be read"));
  EXPECT_THAT(outcome.output, HasSubstr("were not looked at"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("The machine is ready for a run")));
}

TEST_F(Check, OfRealDataFindsWhatIsWrongWithIt) {
  SHARED_DATA_OR_SKIP(cells, "bccd");
  const Outcome outcome = check(cells);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 boxes have no area"));
  EXPECT_THAT(outcome.output, HasSubstr("BloodImage_00338.jpg"));
}

}  // namespace
}  // namespace plimsoll
