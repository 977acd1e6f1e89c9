// args.toml says all that a run was asked for, and is read back as it was written.
#include "job/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/error.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

job::RunSettings asked() {
  job::RunSettings settings;
  settings.model.model = "resnet20";
  settings.model.auxiliary = true;
  settings.data = "a \"b\"\xFF";
  settings.memory.memory = "2GiB";
  settings.lr = 0.05;
  settings.optimizer.weight_decay = 1e-4;
  settings.reading.first_label = 1;
  settings.run.epochs = 7;
  settings.schedule = "cosine";
  settings.weights = "/w.safetensors";
  return settings;
}

const nn::Input kInput{.batch = 12, .channels = 3, .image = 40};

TEST(Args, SayEveryOptionOfTrain) {
  const std::string help = run_program("help train").output;
  std::vector<std::string> options;
  const std::regex expression("\n  (?:-[a-zA-Z],)?--([a-z][a-z0-9-]*)");
  for (std::sregex_iterator match(help.begin(), help.end(), expression), end; match != end; ++match)
    options.push_back((*match)[1]);
  std::vector<std::string> expected = job::args_names();
  // Where the run is, and how the program speaks.
  for (const char* more : {"out", "resume", "fresh", "json", "quiet", "config", "help"})
    expected.emplace_back(more);
  // Who computes: no part of what a run is.
  for (const char* more : {"ranks", "hosts", "restarts", "interface", "rank-timeout", "mixed-hosts",
                           "verbose", "shard-optimizer"})
    expected.emplace_back(more);
  EXPECT_THAT(options, testing::UnorderedElementsAreArray(expected));
}

TEST(Args, ReadBackAsTheyWere) {
  const TemporaryFolder folder;
  const std::string text = job::args_text(asked(), kInput, 2);
  job::RunSettings read;
  job::read_args(folder.put("args.toml", text), read);
  EXPECT_EQ(job::args_text(read, read.model.input(), 2), text);
  EXPECT_EQ(read.model.batch, 12);
  EXPECT_EQ(read.model.image, "40x40");
  EXPECT_EQ(read.reading.first_label, 1);
  EXPECT_EQ(read.threads, 2);
  EXPECT_TRUE(read.data.ends_with("a \"b\"\xFF")) << read.data;
  EXPECT_TRUE(read.model.auxiliary);
}

TEST(Args, ShowNumbersAsPeopleWriteThem) {
  const std::string text = job::args_text(asked(), kInput, 2);
  EXPECT_THAT(text, HasSubstr("lr = 0.05\n"));
  EXPECT_THAT(text, HasSubstr("weight-decay = 0.0001\n"));
  EXPECT_THAT(text, HasSubstr("momentum = 0.9\n"));
  EXPECT_THAT(text, HasSubstr("val-split = 0.0\n"));
  EXPECT_THAT(text, HasSubstr("epochs = 7\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("dropout")));
}

TEST(Args, RefuseWhatIsNoOptionAndWhatIsOfAnotherType) {
  const TemporaryFolder folder;
  job::RunSettings settings;
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      job::read_args(folder.put("args.toml", text), settings);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint("epoch = 3\n"), HasSubstr("unknown key 'epoch'"));
  EXPECT_THAT(complaint("epochs = 3.5\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(complaint("model = 3\n"), HasSubstr("expected a text"));
  EXPECT_EQ(complaint("lr = 1\n"), "");
  EXPECT_EQ(settings.lr, 1);
}

TEST(Args, AreSetOneByOneAsTheCommandLineWould) {
  job::RunSettings settings;
  job::set_option(settings, "lr", "0.25");
  job::set_option(settings, "batch", "max");
  job::set_option(settings, "nesterov", "true");
  job::set_option(settings, "momentum", "0.5");
  EXPECT_EQ(settings.lr, 0.25);
  EXPECT_TRUE(settings.model.batch_max);
  EXPECT_TRUE(settings.optimizer.nesterov);
  EXPECT_EQ(settings.optimizer_options().momentum, 0.5);
  EXPECT_THROW(job::set_option(settings, "steps", "many"), UsageError);
  EXPECT_THROW(job::set_option(settings, "step", "3"), UsageError);
}

TEST(Args, LeaveRmspropWithoutMomentumUnlessItIsAskedFor) {
  job::RunSettings settings;
  settings.optimizer.name = "rmsprop";
  EXPECT_EQ(settings.optimizer_options().momentum, 0);
  settings.momentum = 0.9;
  EXPECT_EQ(settings.optimizer_options().momentum, 0.9);
}

}  // namespace
}  // namespace plimsoll
