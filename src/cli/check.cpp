#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/data_report.h"
#include "cli/machine_text.h"
#include "cli/options.h"
#include "cli/picture_page.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "kernels/fma_peak.h"
#include "machine/team.h"
#include "ops/table.h"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kMostShown = 50;

struct Settings : job::TrainingSettings {
  CommonOptions common;
  bool has_data = false;  // DATA was given, if only as an empty word
  std::string out = "runs";
  std::string pictures;
};

job::ScannedData scan_data(const std::string& name, const SourcePtr& source,
                           ScanOptions scan_options, bool quiet) {
  job::ScannedData data{.name = name, .source = source};
  PhaseBar bar("reading " + name, quiet);
  scan_options.progress = [&](const ScanProgress& p) {
    bar.show(p.done, p.samples, p.seconds,
             fmt::format("{}/{} · {} bad · {:.0f} img/s", p.done, p.samples, p.bad,
                         static_cast<double>(p.done) / std::max(p.seconds, 1e-9)));
    return true;
  };
  data.report = scan(*data.source, scan_options);
  return data;
}

// What the data means for a run of the network.
struct Meaning {
  std::string model;
  nn::Input input;
  // What `train` would do, or why it would not begin; neither of boxes that the network cannot
  // find.
  std::optional<job::PlannedRun> run;
  std::string why_not;
  std::vector<job::AnchorCoverage> coverage = {};  // of a detector
  double delivered = 0;                            // images/s that one core reads and decodes
  double most = 0;  // images/s that training could take if every core ran at its peak
};

// Multiplications and additions of a training step per image: forward, and twice that backward.
double flops_per_image(const job::ModelSettings& options) {
  nn::Input input = options.input();
  input.batch = 1;
  nn::Builder builder(op_table(), input, nn::Mode::training);
  options.factory()(builder);
  double flops = 0;
  const Graph& graph = builder.graph();
  for (const Node& node : graph.nodes())
    if (node.op->arithmetic != Arithmetic::none) flops += cost_of(graph, node).flops;
  return 3 * flops;
}

// The part of a split without what the scan of the whole found bad.
SourcePtr without_bad_of(const SourcePtr& part, const ScanReport& whole) {
  if (whole.bad.empty()) return part;
  std::set<std::int64_t> bad;
  for (const BadSample& sample : whole.bad) bad.insert(sample.sample);
  std::vector<std::uint32_t> good;
  for (std::int64_t i = 0; i < part->size(); ++i)
    if (!bad.contains(part->number(i))) good.push_back(static_cast<std::uint32_t>(i));
  return make_subset(part, std::move(good));
}

// What `train` would be given once the bad files are mended or left out.
job::TrainingData usable_data(const Settings& settings, const job::ScannedData& train,
                              const std::optional<job::ScannedData>& validation) {
  job::TrainingData data{.train = train.source, .largest = train.report.largest};
  if (settings.val_split > 0) {
    const SplitSources parts =
        split(train.source, settings.val_split, static_cast<std::uint64_t>(settings.seed));
    data.train = without_bad_of(parts.train, train.report);
    data.validation = without_bad_of(parts.validation, train.report);
    return data;
  }
  data.train = without_bad(train.source, train.report);
  if (validation) {
    data.validation = without_bad(validation->source, validation->report);
    data.largest = largest_of(data.largest, validation->report.largest);
  }
  return data;
}

// Plans the run; what would keep `train` from beginning goes to `remarks`.
void plan_run(Settings& settings, const job::ScannedData& train,
              const std::optional<job::ScannedData>& validation, const job::Budget& budget,
              int threads, Meaning& meaning, std::vector<Remark>& remarks) {
  // Which network finds boxes is not for this command to choose.
  if (train.source->has_boxes() && !settings.model.detects()) return;
  try {
    if (!train.source->has_boxes() && settings.model.detects())
      throw UsageError({.where = settings.data,
                        .got = "the data has one class per picture",
                        .expected = "expected boxes, which " + settings.model.title() + " finds"});
    const job::TrainingData data = usable_data(settings, train, validation);
    if (settings.model.detects()) {
      settings.boxes.settle(settings.model, *data.train, data.validation.get());
      const std::int64_t base = settings.boxes.anchor_base;
      meaning.coverage = job::anchor_coverage(settings.model, *data.train, base);
      remarks.push_back(
          {job::is_well_covered(meaning.coverage) ? Severity::note : Severity::warning, train.name,
           job::coverage_text(meaning.coverage, base), ""});
    }
    job::Ready ready = job::make_ready(settings, &data, budget, threads);
    settings.check_patterns(ready.trainer);
    meaning.input = settings.model.input();
    meaning.run = ready.run;
    job::require_fit(ready, settings, &data, threads);
  } catch (const Error& error) {
    remarks.push_back(to_remark(error.complaint()));
    meaning.why_not = remarks.back().what;
  }
}

Meaning find_meaning(const Settings& settings, const job::ScannedData& data) {
  return {.model = settings.model.title(),
          .input = settings.model.input(),
          .run = {},
          .why_not = {},
          .delivered = data.report.images_per_second() / data.report.workers,
          .most = kernels::measure_fma_peak_gflops() * 1e9 / flops_per_image(settings.model)};
}

void judge(const Meaning& meaning, const job::ScannedData& data, const Machine& machine,
           std::vector<Remark>& remarks) {
  if (meaning.delivered * machine.usable < meaning.most)
    remarks.push_back(
        {Severity::warning, data.name,
         fmt::format("{:.0f} images/s can be read on all cores and {} could take {:.0f}",
                     meaning.delivered * machine.usable, meaning.model, meaning.most),
         "training may wait for data; smaller pictures (a short side of 320 to 400) decode "
         "faster"});
}

void print_text(const Meaning& meaning) {
  fmt::print("a run of {} at {}x{}, batch {}\n", meaning.model, meaning.input.image.h,
             meaning.input.image.w, meaning.input.batch);
  fmt::print(
      "  speed        a core reads {:.0f} images/s; training takes {:.1f} at most (every core at "
      "the "
      "peak just measured)\n",
      meaning.delivered, meaning.most);
  if (!meaning.coverage.empty()) {
    fmt::print("  boxes on it  {:<16} {:>7}  {:>15}  {:>7}\n", "class", "boxes", "side 5-50-95 %",
               "reached");
    for (const job::AnchorCoverage& one : meaning.coverage)
      fmt::print("               {:<16} {:>7}  {:>15}  {:>5.0f} %\n", one.name, one.boxes,
                 fmt::format("{:.0f} {:.0f} {:.0f}", one.sides[0], one.sides[1], one.sides[2]),
                 100 * one.share());
  }
  if (!meaning.run) return;
  fmt::print("  {}\n{}\n", budget_text(meaning.run->budget), ledger_text(*meaning.run));
  fmt::print("  smallest budget {} · fastest plan {}\n",
             to_string(Bytes{meaning.run->plan.floor_bytes}),
             to_string(Bytes{meaning.run->plan.unlimited_bytes}));
}

nlohmann::ordered_json plan_json(const Meaning& meaning) {
  nlohmann::ordered_json json;
  if (meaning.run) json = plan_summary_json(*meaning.run);
  if (!meaning.why_not.empty()) {
    json["fits"] = false;
    json["reason"] = meaning.why_not;
  }
  return json;
}

// Further lines of a hint stand below its first.
std::string indented(std::string text) {
  constexpr std::string_view kBelow = "\n           ";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += kBelow.size())
    text.replace(at, 1, kBelow);
  return text;
}

void print_remarks(const std::vector<Remark>& remarks) {
  if (remarks.empty()) return;
  fmt::print("findings\n");
  std::size_t shown = 0;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note})
    for (const Remark& remark : remarks) {
      if (remark.severity != severity || ++shown > kMostShown) continue;
      fmt::print("  {:<8} {}: {}\n", name_of(severity), remark.where, remark.what);
      if (!remark.hint.empty()) fmt::print("           hint: {}\n", indented(remark.hint));
    }
  if (shown > kMostShown) fmt::print("  ... and {} more (--json has all)\n", shown - kMostShown);
}

nlohmann::ordered_json remarks_json(const std::vector<Remark>& remarks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Remark& remark : remarks) {
    list.push_back({{"severity", name_of(remark.severity)},
                    {"where", remark.where},
                    {"what", remark.what},
                    {"hint", remark.hint}});
    if (remark.byte) list.back()["byte"] = *remark.byte;
  }
  return list;
}

// `bad`: how many of the errors are samples that --bad-files skip would leave out.
std::string verdict(std::int64_t errors, std::int64_t warnings, std::int64_t bad,
                    const std::optional<job::ScannedData>& train, bool detects) {
  const auto counted = [](std::int64_t count, const char* one, const char* many) {
    return count == 1 ? std::string(one) : fmt::format("{} {}", count, many);
  };
  if (errors > 0)
    return fmt::format("A run would fail: {} to mend{}.", counted(errors, "1 error", "errors"),
                       errors == bad ? ", or to leave out with --bad-files skip" : "");
  std::string text = "The machine is ready for a run";
  if (train)
    text = train->source->has_boxes() && !detects
               ? "The data is sound; a network that finds boxes, --model retinanet_mini, tells more"
               : "A run would work";
  if (warnings > 0)
    text += fmt::format("; {} to look at", counted(warnings, "1 warning", "warnings"));
  return text + ".";
}

int run(Settings& settings) {
  const int threads = use_threads(settings.threads);
  const bool json = settings.common.json;
  std::vector<Remark> remarks;
  nlohmann::ordered_json result;
  const job::Budget budget = budget_of(settings.memory);
  const Machine machine = examine_machine(settings.out, remarks);
  if (!json) cli::print_text(machine);

  std::optional<job::ScannedData> train;
  std::optional<job::ScannedData> validation;
  std::optional<Meaning> meaning;
  const auto progress_of = [&](PhaseBar& bar, const Stopwatch& watch) {
    return [&](std::int64_t done, std::int64_t total) {
      bar.show(done, total, watch.seconds(), to_string(Bytes{done}));
    };
  };
  // Lists and scans one of the two; what keeps it from being read goes to `remarks`.
  const auto look = [&](const std::string& name, const char* heading, const auto& list,
                        std::optional<job::ScannedData>& data) {
    try {
      SourcePtr source;
      {
        const Stopwatch watch;
        PhaseBar bar("listing " + name, settings.common.quiet);
        source = list(progress_of(bar, watch));
      }
      if (!source) return;
      if (!train) job::settle_sizes(settings, *source);
      data = scan_data(name, source,
                       {.workers = threads,
                        .channels = static_cast<int>(settings.model.input().channels),
                        .memory = job::left_to_scan(budget)},
                       settings.common.quiet);
    } catch (const Error& error) {
      remarks.push_back(to_remark(error.complaint()));
      return;
    }
    data->heading = heading;
    if (!json) cli::print_text(*data);
    find_remarks(*data, remarks);
  };
  if (settings.has_data)
    look(
        settings.data, "data",
        [&](const auto& progress) {
          SourceOptions options = settings.reading.source_options();
          options.whole_voc = !settings.model.detects();
          options.progress = progress;
          return open_source(settings.data, options);
        },
        train);
  if (train)
    look(
        settings.validation.empty() ? settings.data : settings.validation, "val",
        [&](const auto& progress) {
          return job::open_validation(settings, *train->source, progress);
        },
        validation);
  if (train && validation) find_remarks(*train, *validation, remarks);
  if (train) {
    meaning = find_meaning(settings, *train);
    judge(*meaning, *train, machine, remarks);
    if (std::string note = job::grey_note(settings.model, train->report); !note.empty())
      remarks.push_back({Severity::note, train->name, std::move(note), ""});
    plan_run(settings, *train, validation, budget, threads, *meaning, remarks);
    if (!json) print_text(*meaning);
    if (!settings.pictures.empty()) {
      const auto page = write_picture_page(*train, settings.pictures);
      fmt::print(json ? stderr : stdout, "pictures       {}\n", page.string());
    }
  }

  const auto errors = std::ranges::count(remarks, Severity::error, &Remark::severity);
  const auto warnings = std::ranges::count(remarks, Severity::warning, &Remark::severity);
  if (json) {
    result["ok"] = errors == 0;
    result["machine"] = to_json(machine);
    result["data"] = train ? to_json(*train) : nlohmann::ordered_json(nullptr);
    if (!settings.validation.empty() || validation) {
      result["val"] = validation ? to_json(*validation) : nlohmann::ordered_json(nullptr);
      if (train && validation) result["val"]["leaks"] = leaks_json(*train, *validation);
    }
    if (meaning) {
      result["run"] = {{"model", meaning->model},
                       {"batch", meaning->input.batch},
                       {"image", {meaning->input.image.h, meaning->input.image.w}},
                       {"images_per_second_per_core", meaning->delivered},
                       {"images_per_second_at_most", meaning->most}};
      result["plan"] = plan_json(*meaning);
      for (const job::AnchorCoverage& one : meaning->coverage)
        result["run"]["anchors"].push_back(
            {{"name", one.name}, {"boxes", one.boxes}, {"reached", one.share()}});
    }
    result["problems"] = remarks_json(remarks);
    fmt::print("{}", json_text(result));
  } else {
    print_remarks(remarks);
    std::int64_t bad = 0;
    for (const auto* data : {&train, &validation})
      if (*data && std::cmp_less((*data)->report.bad.size(), (*data)->source->size()))
        bad += (*data)->bad();
    fmt::print("{}\n", verdict(errors, warnings, bad, train, settings.model.detects()));
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace

Entry add_check(CLI::App& command) {
  const auto settings = std::make_shared<Settings>();
  add_options(command, *settings, "what `train` would be given; without it the machine alone");
  settings->common.add_to(command);
  command.add_option("--out", settings->out, "where runs will be written")->capture_default_str();
  command.add_option("--pictures", settings->pictures,
                     "folder for a page of samples with labels and boxes");
  command.footer(
      "Exit code 1: a run would fail.\nExample: plimsoll check flowers/ --model xception "
      "--pictures "
      "look/");
  return [settings, &command] {
    settings->check();
    settings->has_data = command.count("--data") > 0;
    return run(*settings);
  };
}

}  // namespace plimsoll::cli
