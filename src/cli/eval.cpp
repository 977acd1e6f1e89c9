#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "draw/draw.h"
#include "machine/crowding.h"
#include "machine/team.h"
#include "run/run.h"

namespace plimsoll::cli {
namespace {

struct Settings {
  CommonOptions common;
  std::optional<std::int64_t> threads;
  job::ModelSettings model;
  job::MemorySettings memory;
  job::DataSettings reading;
  std::string weights;
  std::string data;
  std::string picture;
};

// Names of the data's classes must be those the network was trained on, in their order.
SourcePtr open_data(const Settings& s, const job::TrainedModel& trained) {
  SourceOptions reading = s.reading.source_options();
  reading.class_names = trained.class_names;
  reading.preferred_parts = {"test", "val", "train"};
  SourcePtr source = open_source(s.data, reading);
  if (source->has_boxes())
    throw UsageError({.where = "DATA",
                      .got = "'" + s.data + "' has boxes",
                      .expected = "expected one class per picture"});
  const auto classes = static_cast<std::int64_t>(source->class_names().size());
  if (classes > trained.model.class_count())
    throw DataError({.where = s.data,
                     .got = std::to_string(classes) + " classes",
                     .expected = "expected at most " + std::to_string(trained.model.class_count()) +
                                 ", as the weights have"});
  return source;
}

nlohmann::ordered_json json_of(const Evaluation& found, const ClassCounts& counts,
                               const std::vector<std::string>& names) {
  nlohmann::ordered_json json{
      {"loss", found.loss}, {"accuracy", found.accuracy}, {"top5", found.top5}};
  json["per_class"] = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto of = static_cast<std::int64_t>(c);
    json["per_class"].push_back({{"name", names[c]},
                                 {"images", counts.samples(of)},
                                 {"recall", counts.recall(of)},
                                 {"precision", counts.precision(of)}});
  }
  json["images"] = found.samples;
  return json;
}

void print_text(const Evaluation& found, const ClassCounts& counts,
                const std::vector<std::string>& names) {
  fmt::print("{} images · loss {:.4f} · top-1 {:.2f} % · top-5 {:.2f} %\n\n", found.samples,
             found.loss, 100 * found.accuracy, 100 * found.top5);
  std::size_t width = 5;
  for (const std::string& name : names) width = std::max(width, name.size());
  fmt::print("{:<{}} {:>8} {:>8} {:>9}  {}\n", "class", width, "images", "recall", "precision",
             "most often taken for");
  for (std::size_t c = 0; c < names.size(); ++c) {
    const auto of = static_cast<std::int64_t>(c);
    std::string confused;
    if (counts.has_confusion()) {
      const std::int64_t* row = counts.confusion().data() + of * counts.classes();
      std::int64_t other = -1;
      for (std::int64_t k = 0; k < counts.classes(); ++k)
        if (k != of && row[k] > 0 && (other < 0 || row[k] > row[other])) other = k;
      if (other >= 0 && other < std::ssize(names))
        confused = fmt::format("{} ({})", names[static_cast<std::size_t>(other)], row[other]);
    }
    fmt::print("{:<{}} {:>8} {:>6.1f} % {:>7.1f} %  {}\n", names[c], width, counts.samples(of),
               100 * counts.recall(of), 100 * counts.precision(of), confused);
  }
}

int run(const Settings& s) {
  s.memory.check();
  const int threads = use_threads(s.threads);
  const CrowdMonitor crowding(threads);
  const bool quiet = s.common.quiet || s.common.json;
  job::TrainedModel trained = job::find_trained(s.weights, s.model);
  const job::Budget budget = budget_of(s.memory);
  const SourcePtr source = open_data(s, trained);
  if (!s.common.quiet)
    for (const std::string& note : source->index().notes)
      fmt::print(stderr, "{}: {}\n", s.data, note);
  const ScanReport report =
      scan(*source, {.workers = threads,
                     .channels = static_cast<int>(trained.model.input().channels),
                     .memory = job::left_to_scan(budget)});
  job::check_fits(report, budget);
  if (!report.bad.empty() || !source->defects().empty()) {
    const Complaint& first = report.bad.empty() ? source->defects()[0] : report.bad[0].complaint;
    throw DataError({.where = first.where,
                     .got = first.got,
                     .expected = "expected pictures that can be read",
                     .hint = "`plimsoll check` lists all that are bad"});
  }
  job::OpenedModel opened = job::open_trained(trained, source, report.largest, budget, threads);
  Pipeline pipeline(source, trained.pipeline(opened.workers), report.largest);
  ClassCounts counts(trained.model.class_count());
  PhaseBar bar("evaluating", quiet);
  const Stopwatch watch;
  const std::optional<Evaluation> found =
      evaluate(opened.trainer, pipeline, trained.normalisation(), &counts,
               [&](const Evaluation& so_far, double) {
                 bar.show(so_far.samples, source->size(), watch.seconds(),
                          fmt::format("top-1 {:.2f} %", 100 * so_far.accuracy));
                 return true;
               });
  if (!s.picture.empty() && counts.has_confusion())
    write_file(s.picture, draw::confusion_chart_svg(trained.weights.string() + " on " + s.data,
                                                    source->class_names(), counts.confusion()));
  if (s.common.json) {
    auto json = json_of(*found, counts, source->class_names());
    add_memory(json, opened.predicted_bytes);
    fmt::print("{}", json_text(json));
  } else {
    print_text(*found, counts, source->class_names());
    fmt::print("\n{}\n", memory_text(opened.predicted_bytes));
  }
  return 0;
}

}  // namespace

Entry add_eval(CLI::App& command) {
  const auto s = std::make_shared<Settings>();
  s->model.model.clear();  // as the weights say
  add_options(command, s->model);
  add_options(command, s->memory);
  add_threads(command, s->threads);
  add_options(command, s->reading);
  s->common.add_to(command);
  command.add_option("RUN_OR_WEIGHTS", s->weights, "a run directory, or a safetensors file")
      ->required();
  command.add_option("DATA", s->data, "as for train; of a set in parts test, else val")->required();
  command.add_option("--picture", s->picture, "draw the confusion matrix into this SVG file");
  command.footer(
      "Examples:\n"
      "  plimsoll eval runs/demo fashion-mnist\n"
      "  plimsoll eval runs/xception/weights/last.safetensors photos/ --picture confusion.svg");
  return [s] { return run(*s); };
}

}  // namespace plimsoll::cli
