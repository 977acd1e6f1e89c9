#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/drawn_pictures.h"
#include "cli/options.h"
#include "cli/picture_files.h"
#include "cli/plan_text.h"
#include "cli/prediction_printer.h"
#include "data/scan/scan.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "step/evaluation.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kBestClasses = 5;
// What people look at, and what programs sift for themselves.
constexpr double kShownScore = 0.5, kListedScore = 0.05;

struct PredictSettings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  job::MemorySettings memory;
  std::string weights;
  std::string normalise;  // empty: as the weights say
  std::vector<std::string> files;
  std::optional<std::int64_t> top;
  std::optional<double> score;
  std::string pictures;
  bool csv = false;
  bool logits = false;

  // Least scores of boxes, of what is printed and of what is drawn.
  double printed_score() const {
    return score.value_or(common.json || csv ? kListedScore : kShownScore);
  }
  double drawn_score() const { return score.value_or(kShownScore); }

  void check(bool detects) const;
  PredictionFormat format(const Task& task, bool detects) const;
};

void PredictSettings::check(bool detects) const {
  if (top && *top < 1)
    throw UsageError(
        {.where = "--top", .got = std::to_string(*top), .expected = "expected at least 1"});
  if (score && !(*score >= 0 && *score <= 1))
    throw UsageError(
        {.where = "--score", .got = fmt::format("{}", *score), .expected = "expected 0 to 1"});
  const auto refuse = [](const char* option, const char* got) {
    throw UsageError({.where = option, .got = got, .expected = "expected weights of a detector"});
  };
  if (!detects && score) refuse("--score", "a network that finds no boxes");
  if (!detects && !pictures.empty()) refuse("--pictures", "a network that finds no boxes");
  if (detects && logits)
    throw UsageError({.where = "--logits",
                      .got = "a detector, which sorts its boxes by probability",
                      .expected = "expected weights of a classifier"});
}

PredictionFormat PredictSettings::format(const Task& task, bool detects) const {
  using Kind = PredictionFormat::Kind;
  return {.kind = common.json ? Kind::json
                  : csv       ? Kind::csv
                              : Kind::text,
          .boxes = detects,
          .score = detects                   ? "score"
                   : !task.predicts_shares() ? "value"
                   : logits                  ? "logit"
                                             : "p"};
}

std::vector<Prediction> above(const std::vector<Prediction>& found, double score) {
  std::vector<Prediction> kept;
  for (const Prediction& one : found)
    if (one.score >= score) kept.push_back(one);
  return kept;
}

// The network, and memory to draw in where that is asked for: as much as any picture needs or, if
// the budget is short, what it leaves.
struct Opened {
  job::OpenedModel model;
  Bytes to_draw;
};

Opened open(const PredictSettings& s, job::TrainedModel& trained, const SourcePtr& source,
            const ScanReport& report, const job::Budget& budget, int threads) {
  const auto open_beside = [&](Bytes beside) {
    job::TrainedModel own = trained;
    job::OpenedModel opened =
        job::open_trained(own, source, own.class_names, report.largest, budget, threads, beside);
    trained = std::move(own);
    return opened;
  };
  if (s.pictures.empty()) return {open_beside({0}), {0}};
  const Bytes needed = DrawnPictures::needed(*source, report);
  // Workers and batch give way to drawing, as far as that is of use.
  for (const std::int64_t part : {1, 2, 4, 8}) {
    try {
      const Bytes asked{needed.count / part};
      job::OpenedModel opened = open_beside(asked);
      const Bytes more = std::min(needed - asked, Bytes{budget.bytes - opened.predicted_bytes});
      opened.predicted_bytes += more.count;
      return {std::move(opened), asked + more};
    } catch (const BudgetError&) {
      continue;
    }
  }
  job::OpenedModel opened = open_beside({0});
  const Bytes left{budget.bytes - opened.predicted_bytes};
  opened.predicted_bytes = budget.bytes;
  return {std::move(opened), left};
}

int run(const PredictSettings& s) {
  use_isa(s.model.isa);
  s.memory.check(s.model.is_short());
  const int threads = use_threads(s.threads);
  const CrowdMonitor crowding(threads);
  job::TrainedModel trained = job::find_trained(s.weights, s.model);
  const bool detects = trained.targets == TargetKind::boxes;
  s.check(detects);
  trained.prepare_pictures(s.normalise);
  const PictureFiles listed = list_pictures(s.files);
  std::vector<Complaint> bad = listed.missing;
  const auto tell_bad = [&] {
    for (const Complaint& complaint : bad)
      fmt::print(stderr, "plimsoll: {}: {}; {}\n", complaint.where, complaint.got,
                 complaint.expected);
    return bad.empty() ? 0 : 1;
  };
  if (listed.source->size() == 0) {
    if (bad.empty())
      throw DataError({.where = s.files.empty() ? "FILES" : s.files[0],
                       .got = "there is no picture in it",
                       .expected = "expected files, folders or patterns with pictures"});
    return tell_bad();
  }
  const job::Budget budget = budget_of(s.memory);
  const int channels = s.pictures.empty() ? static_cast<int>(trained.model.input().channels) : 3;
  const ScanReport report =
      scan(*listed.source,
           {.workers = threads, .channels = channels, .memory = job::left_to_scan(budget)});
  for (const BadSample& sample : report.bad) bad.push_back(sample.complaint);
  if (std::ssize(report.bad) == listed.source->size()) return tell_bad();
  const SourcePtr source = without_bad(listed.source, report);
  Opened opened = open(s, trained, source, report, budget, threads);
  const Trainer& trainer = opened.model.trainer;
  const Task& task = trainer.task();
  std::optional<DrawnPictures> drawn;
  if (!s.pictures.empty()) drawn.emplace(s.pictures, *source, report, opened.to_draw);
  Pipeline pipeline(source, trained.pipeline(opened.model.workers), report.largest);
  {
    PredictionPrinter printer(s.format(task, detects));
    const auto most = static_cast<std::size_t>(
        s.top.value_or(detects ? std::numeric_limits<std::int64_t>::max() : kBestClasses));
    pipeline.start(0, 0);
    while (const std::optional<Batch> batch = pipeline.next()) {
      const StepTensors tensors = trainer.tensors(Purpose::evaluate, batch->count);
      fill_inputs(*batch, trained.normalisation(), task, tensors, 0, batch->count);
      opened.model.trainer.evaluate_step(batch->count);
      for (std::int64_t i = 0; i < batch->count; ++i) {
        const std::int64_t sample = batch->samples[static_cast<std::size_t>(i)];
        const std::string path = source->path(sample);
        const std::vector<Prediction> found = task.predict(tensors, *batch, i, most, s.logits);
        if (!detects) {
          printer.print(path, {}, found);
          continue;
        }
        printer.print(path, batch->placements[static_cast<std::size_t>(i)].image,
                      above(found, s.printed_score()));
        if (!drawn) continue;
        try {
          drawn->draw(sample, listed.relative(source->number(sample), path),
                      above(found, s.drawn_score()));
        } catch (const DataError& error) {
          bad.push_back(error.complaint());
        }
      }
    }
  }
  if (!s.common.quiet && !s.common.json)
    fmt::print(stderr, "{}\n", memory_text(opened.model.predicted_bytes));
  return tell_bad();
}

}  // namespace

Entry add_predict(CLI::App& command) {
  const auto s = std::make_shared<PredictSettings>();
  s->model.model.clear();  // as the weights say
  add_options(command, s->model);
  add_options(command, s->memory);
  add_threads(command, s->threads);
  s->common.add_to(command);
  add_normalise(command, s->normalise);
  command.add_option("RUN_OR_WEIGHTS", s->weights, "a run directory, or a file of weights")
      ->required();
  command.add_option("FILES", s->files, "pictures, folders of them, or patterns")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--top", s->top,
                     "so many classes for each picture (5), or so many boxes at most (all)");
  command.add_option(
      "--score", s->score,
      "of a detector: boxes of this score and more (0.5; with --json and --csv 0.05, "
      "but 0.5 in pictures)");
  command.add_option("--pictures", s->pictures,
                     "of a detector: draw boxes, names and scores on every picture, upright and as "
                     "large as it is, as PNG below this folder");
  command.add_flag("--csv", s->csv,
                   "file,rank,class,p; of a detector file,rank,class,score and "
                   "x0,y0,x1,y1 in pixels of the upright picture");
  command.add_flag("--logits", s->logits, "scores before softmax instead of probabilities");
  command.footer(
      "Examples:\n"
      "  plimsoll predict runs/xception photo.jpg\n"
      "  plimsoll predict runs/xception photos/ --csv --top 1 > predictions.csv\n"
      "  plimsoll predict runs/cells slides/ --pictures found --json > found.json");
  return [s] { return run(*s); };
}

}  // namespace plimsoll::cli
