// A run of several ranks, as threads: what they decide, they decide alike.
#include "run/run_ranks.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "ops/table.h"
#include "run/run.h"
#include "step/evaluation.h"
#include "tests/run/run_sizes.h"
#include "tests/support/image_folder.h"
#include "tests/support/ranks.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kRunParts = 4;

// What a rank has seen of its run.
struct Story {
  std::string letters;  // s(tep), v(alidated), e(poch), c(heckpoint), m(essage), f(inished)
  RunReport report;
};

class ToldRun {
 public:
  ToldRun(const ImageFolder& images, const std::filesystem::path& out, dist::Group* group,
          RunOptions options)
      : source_(images.open()),
        trainer_(make_trainer(group)),
        train_(source_, settings(true, group), kLargest),
        validation_(source_, settings(false, group), kLargest) {
    options.out = out;
    options.batch = kRunBatch;
    options.group = group;
    trainer_.open();
    run_.emplace(trainer_,
                 RunData{.train = train_,
                         .validation = &validation_,
                         .train_samples = kRunImages,
                         .validation_samples = kRunImages,
                         .normalisation = {}},
                 options, RunState{});
  }

  // `look` is called after every event.
  Story tell(const std::function<void(Run&)>& look = {}) {
    Story story;
    while (const std::optional<RunEvent> event = run_->next()) {
      story.letters += "svecmf"[event->index()];
      if (const auto* end = std::get_if<Finished>(&*event)) story.report = end->report;
      if (look) look(*run_);
    }
    return story;
  }

 private:
  static Trainer make_trainer(dist::Group* group) {
    TrainerOptions options{.input = {.batch = kRunBatch, .channels = 1, .image = 28},
                           .train_batches = {kRunBatch, kRunImages % kRunBatch},
                           .accumulate = kRunParts,
                           .place = dist::place_in(group),
                           .evaluate_batches = {kRunBatch, kRunImages % kRunBatch},
                           .task = make_classification({.classes = 2, .class_names = {"c0", "c1"}}),
                           .tuning = {.average = 0.5}};
    return Trainer(
        op_table(),
        [](nn::Builder& net) {
          return zoo::find_network("inception_mini").build(net, {.classes = 2});
        },
        options);
  }
  static PipelineSettings settings(bool training, dist::Group* group) {
    PipelineSettings settings{.batch = kRunBatch,
                              .image = {.height = 28, .width = 28},
                              .channels = 1,
                              .shuffle = training,
                              .repeat = training,
                              .depth = 2,
                              .workers = 1};
    if (group == nullptr) return settings;
    settings.window_most = kRunBatch;
    settings.window = dealt_batches(group->rank(), group->ranks(), kRunBatch);
    if (training)
      settings.window = [rank = group->rank(), ranks = group->ranks()](std::int64_t,
                                                                       std::int64_t count) {
        const dist::Window window = dist::window_of(count, kRunBatch, kRunParts, rank, ranks);
        return BatchWindow{.first = window.first, .count = window.count};
      };
    return settings;
  }

  const SourcePtr source_;
  Trainer trainer_;
  Pipeline train_;
  Pipeline validation_;
  std::optional<Run> run_;
};

std::string checkpoint(const std::filesystem::path& run) {
  return read_file(run / "weights" / "last.safetensors", 64_MiB);
}

TEST(RunOfRanks, EndsWithTheBytesOfOneProcess) {
  const Watchdog watchdog(std::chrono::seconds(120));
  const ImageFolder images(2, kRunImages / 2);
  const TemporaryFolder alone_folder;
  const Story alone = ToldRun(images, alone_folder.path(), nullptr, {.epochs = 2}).tell();
  for (const int ranks : {2, 3, 4}) {
    const TemporaryFolder folder;
    std::vector<Story> stories(static_cast<std::size_t>(ranks));
    const auto thrown = run_ranks(ranks, [&](dist::Group& group) {
      // Nobody but rank 0 may write.
      const std::filesystem::path out =
          group.rank() == 0 ? folder.path() : folder.path() / "nowhere";
      stories[static_cast<std::size_t>(group.rank())] =
          ToldRun(images, out, &group, {.epochs = 2}).tell();
    });
    for (const std::string& text : thrown) EXPECT_EQ(text, "");
    for (const Story& story : stories) {
      EXPECT_EQ(story.report.loss, alone.report.loss);
      EXPECT_EQ(story.report.validation->loss, alone.report.validation->loss);
      EXPECT_EQ(story.report.validation->metrics, alone.report.validation->metrics);
      EXPECT_EQ(story.report.steps, alone.report.steps);
      EXPECT_EQ(story.report.ranks.size(), static_cast<std::size_t>(ranks));
    }
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "nowhere"));
    EXPECT_TRUE(checkpoint(folder.path()) == checkpoint(alone_folder.path())) << ranks;
  }
}

TEST(RunOfRanks, WhatOneIsAskedToStopAllStopAtTheSameStep) {
  const Watchdog watchdog(std::chrono::seconds(120));
  const ImageFolder images(2, kRunImages / 2);
  const TemporaryFolder folder;
  std::vector<Story> stories(3);
  run_ranks(3, [&](dist::Group& group) {
    int events = 0;
    stories[static_cast<std::size_t>(group.rank())] =
        ToldRun(images, folder.path(), &group, {.epochs = 1000}).tell([&](plimsoll::Run& run) {
          if (group.rank() == 2 && ++events == 7) run.stop();
        });
  });
  for (const Story& story : stories) {
    EXPECT_EQ(story.report.stopped_by, StopReason::interrupt);
    EXPECT_EQ(story.report.steps, stories[0].report.steps);
  }
}

TEST(RunOfRanks, SharesWhatRankZeroHas) {
  run_ranks(2, [&](dist::Group& group) {
    RunState state{.step = 5, .epoch = 1};
    state.metric_sums["correct"] = 0.1 + 0.2;
    state.best = 1.0 / 3;
    const RunState heard = share_state(&group, group.rank() == 0 ? state : RunState{});
    EXPECT_EQ(heard, state);
    EXPECT_EQ(share_text(&group, group.rank() == 0 ? "runs/a" : "other"), "runs/a");
  });
}

}  // namespace
}  // namespace plimsoll
