#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/detection_report.h"
#include "cli/detections_file.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/rank_share.h"
#include "dist/agreement.h"
#include "job/identity.h"
#include "machine/crowding.h"
#include "machine/instructions.h"
#include "machine/team.h"
#include "step/evaluation.h"
#include "task/detection_tally.h"

namespace plimsoll::cli {
namespace {

struct EvalSettings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  job::MemorySettings memory;
  job::DataSettings reading;
  std::string weights;
  std::string normalise;  // empty: as the weights say
  std::string data;
  std::string picture;
  std::string detections;
  RankOptions ranks;
};

std::string_view what_is(TargetKind kind) {
  switch (kind) {
    case TargetKind::label: return "one class per picture";
    case TargetKind::labels: return "several labels per picture";
    case TargetKind::numbers: return "numbers";
    case TargetKind::boxes: return "boxes";
  }
  bug("a kind of targets");
}

// Names of the data's classes must be those the network was trained on, in their order.
SourcePtr open_data(const EvalSettings& s, const job::TrainedModel& trained) {
  SourceOptions reading = s.reading.source_options();
  reading.class_names = trained.class_names;
  if (trained.targets == TargetKind::labels) reading.reading = Reading::labels;
  if (trained.targets == TargetKind::numbers) reading.reading = Reading::numbers;
  reading.preferred_parts = {"test", "val", "train"};
  reading.whole_voc = false;
  SourcePtr source = open_source(s.data, reading);
  if (source->target_kind() != trained.targets)
    throw DataError({.where = s.data,
                     .got = std::string(what_is(source->target_kind())),
                     .expected = fmt::format("expected what the weights were trained on: {}",
                                             what_is(trained.targets))});
  const auto classes = static_cast<std::int64_t>(source->class_names().size());
  if (classes > trained.model.class_count())
    throw DataError({.where = s.data,
                     .got = std::to_string(classes) + " classes",
                     .expected = "expected at most " + std::to_string(trained.model.class_count()) +
                                 ", as the weights have"});
  return source;
}

nlohmann::ordered_json json_of(const Task& task, const Evaluation& found, const Tally& tally) {
  nlohmann::ordered_json json{{"loss", found.loss}};
  for (std::size_t m = 0; m < task.metrics().size(); ++m)
    json[task.metrics()[m].name] = found.metrics[m];
  if (const auto* detection = dynamic_cast<const DetectionTally*>(&tally))
    add_scores(json, detection->scores());
  json["per_class"] = nlohmann::ordered_json::array();
  const ClassTable table = tally.classes();
  for (const ClassTable::Row& row : table.rows) {
    nlohmann::ordered_json one{{"name", row.name}};
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].unit == ClassTable::Unit::count)
        one[table.columns[c].name] = static_cast<std::int64_t>(row.values[c]);
      else
        one[table.columns[c].name] = row.values[c];
    json["per_class"].push_back(std::move(one));
  }
  json["images"] = found.samples;
  return json;
}

std::string cell_text(ClassTable::Unit unit, double value) {
  if (value < 0) return "-";
  switch (unit) {
    case ClassTable::Unit::count: return fmt::format("{:.0f}", value);
    case ClassTable::Unit::share: return fmt::format("{:.1f} %", 100 * value);
    case ClassTable::Unit::number: return fmt::format("{:.4f}", value);
  }
  bug("a unit of a table");
}

void print_classes(const ClassTable& table) {
  if (table.rows.empty()) return;
  std::size_t width = 5;
  for (const ClassTable::Row& row : table.rows) width = std::max(width, row.name.size());
  std::string head = fmt::format("{:<{}}", "class", width);
  for (const ClassTable::Column& column : table.columns)
    head += fmt::format(" {:>9}", column.title);
  const auto with = [](const std::string& remark) { return remark.empty() ? "" : "  " + remark; };
  fmt::print("\n{}{}\n", head, with(table.remark_title));
  for (const ClassTable::Row& row : table.rows) {
    std::string line = fmt::format("{:<{}}", row.name, width);
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      line += fmt::format(" {:>9}", cell_text(table.columns[c].unit, row.values[c]));
    fmt::print("{}{}\n", line, with(row.remark));
  }
}

// The metrics of the whole evaluation, where there are any, before the means over its samples.
std::string metrics_text(const Task& task, const Evaluation& found, bool means) {
  std::string text;
  for (std::size_t m = 0; m < task.metrics().size(); ++m)
    if (task.metrics()[m].is_mean == means)
      text +=
          " · " + task.metrics()[m].title + " " + value_text(task.metrics()[m], found.metrics[m]);
  return text;
}

void print_text(const Task& task, const Evaluation& found, const Tally& tally) {
  fmt::print("{} images{} · loss {:.4f}{}\n", found.samples, metrics_text(task, found, false),
             found.loss, metrics_text(task, found, true));
  if (const auto* detection = dynamic_cast<const DetectionTally*>(&tally))
    fmt::print("\n{}", scores_text(detection->scores()));
  print_classes(tally.classes());
}

// While it goes: the first metric, or the loss where the metrics that count come at the end.
std::string so_far(const Task& task, const Evaluation& found) {
  const Metric& shown = task.metrics()[0];
  if (std::ranges::all_of(task.metrics(), &Metric::is_mean))
    return shown.title + " " + value_text(shown, found.metrics[0]);
  return fmt::format("loss {:.4f}", found.loss);
}

// Throws DataError for the first that is bad.
ScanReport scan_all(const Source& source, const job::TrainedModel& trained,
                    const job::Budget& budget, int threads, dist::Group* group) {
  ScanReport report = scan(source, {.workers = threads,
                                    .channels = static_cast<int>(trained.model.input().channels),
                                    .memory = job::left_to_scan(budget),
                                    .together = job::share_of_scan(group)});
  job::check_fits(report, budget);
  if (!report.bad.empty() || !source.defects().empty()) {
    const Complaint& first = report.bad.empty() ? source.defects()[0] : report.bad[0].complaint;
    throw DataError({.where = first.where,
                     .got = first.got,
                     .expected = "expected pictures that can be read",
                     .hint = "`plimsoll check` lists all that are bad"});
  }
  return report;
}

int run(const EvalSettings& s, dist::Group* group) {
  const bool leads = dist::leads(group);
  const bool quiet = s.common.quiet || s.common.json || !leads;
  job::TrainedModel trained = dist::make_on_all(group, [&] {
    s.memory.check(s.model.is_short());
    return job::find_trained(s.weights, s.model);
  });
  const RankShare share = share_of_host(group, s.threads, s.memory, true);
  const int threads = use_threads(share.threads);
  const CrowdMonitor crowding(threads);
  if (!s.detections.empty() && group != nullptr)
    throw UsageError({.where = "--detections",
                      .got = "several ranks",
                      .expected = "expected one process, which sees all pictures in order"});
  if (!s.detections.empty() && trained.targets != TargetKind::boxes)
    throw UsageError({.where = "--detections",
                      .got = "a network that finds no boxes",
                      .expected = "expected weights of a detector"});
  trained.prepare_pictures(s.normalise);
  const job::Budget& budget = share.budget;
  const SourcePtr source = dist::make_on_all(group, [&] { return open_data(s, trained); });
  if (!s.common.quiet && leads)
    for (const std::string& note : source->index().notes)
      fmt::print(stderr, "{}: {}\n", s.data, note);
  if (group != nullptr)
    dist::check_same(*group, std::vector<dist::Fact>{{"data", job::fingerprint(*source)}},
                     "all ranks evaluate the same files");
  const ScanReport report =
      dist::make_on_all(group, [&] { return scan_all(*source, trained, budget, threads, group); });
  job::OpenedModel opened = dist::make_on_all(group, [&] {
    return job::open_trained(trained, source, source->class_names(), report.largest, budget,
                             threads);
  });
  const Task& task = opened.trainer.task();
  PipelineSettings reading = trained.pipeline(opened.workers);
  if (group != nullptr) {
    reading.window = dealt_batches(group->rank(), group->ranks(), reading.batch);
    reading.window_most = reading.batch;
  }
  Pipeline pipeline(source, reading, report.largest);
  const std::unique_ptr<Tally> tally = task.make_tally(std::filesystem::temp_directory_path());
  PhaseBar bar("evaluating", quiet);
  const Stopwatch watch;
  std::optional<DetectionsFile> detections;
  Evaluator::Look look;
  if (!s.detections.empty()) {
    detections.emplace(s.detections);
    look = [&](const StepTensors& results, const Batch& batch) { detections->add(results, batch); };
  }
  Evaluator evaluator(opened.trainer, pipeline, trained.normalisation(), tally.get(), look, group);
  const Evaluation& found = evaluator.so_far();
  while (evaluator.next())
    bar.show(found.samples, source->size(), watch.seconds(), so_far(task, found));
  if (!leads) return 0;
  if (detections) detections->finish();
  if (!s.picture.empty())
    for (const EvaluationPicture& picture :
         tally->pictures(trained.weights.string() + " on " + s.data))
      write_file(s.picture, picture.svg);
  if (s.common.json) {
    auto json = json_of(task, found, *tally);
    add_memory(json, opened.predicted_bytes);
    fmt::print("{}", json_text(json));
  } else {
    print_text(task, found, *tally);
    fmt::print("\n{}\n", memory_text(opened.predicted_bytes));
  }
  return 0;
}

}  // namespace

Entry add_eval(CLI::App& command) {
  const auto s = std::make_shared<EvalSettings>();
  s->model.model.clear();  // as the weights say
  add_options(command, s->model);
  add_options(command, s->memory);
  add_threads(command, s->threads);
  add_options(command, s->reading);
  s->common.add_to(command);
  add_normalise(command, s->normalise);
  command.add_option("RUN_OR_WEIGHTS", s->weights, "a run directory, or a file of weights")
      ->required();
  command.add_option("DATA", s->data, "as for train; of a set in parts test, else val")->required();
  command.add_option("--picture", s->picture,
                     "draw the confusion matrix, or precision over recall, into this SVG file");
  command.add_option("--detections", s->detections,
                     "write all boxes that a detector finds into this file, as COCO's results: "
                     "image_id and category_id are those of the data if it is COCO's, else the "
                     "numbers of sample and class from 1 on");
  command.footer(
      "Examples:\n"
      "  plimsoll eval runs/demo fashion-mnist\n"
      "  plimsoll eval runs/xception/weights/last.safetensors photos/ --picture confusion.svg\n"
      "  plimsoll eval runs/cells bccd/ --detections found.json --picture curves.svg");
  s->ranks.add_to(command);
  return [s] {
    use_isa(s->model.isa);
    return run_ranks(s->ranks, {.parts = s->ranks.ranks, .threads = s->threads},
                     [&](dist::Group* group) { return run(*s, group); });
  };
}

}  // namespace plimsoll::cli
