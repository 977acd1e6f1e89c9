#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/data_report.h"
#include "cli/machine_text.h"
#include "cli/options.h"
#include "cli/picture_page.h"
#include "cli/progress.h"
#include "cli/run_outlook.h"
#include "machine/instructions.h"
#include "machine/team.h"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kMostShown = 50;

struct CheckSettings : job::TrainingSettings {
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

int run(CheckSettings& settings) {
  use_isa(settings.model.isa);
  const int threads = use_threads(settings.threads);
  const bool json = settings.common.json;
  std::vector<Remark> remarks;
  nlohmann::ordered_json result;
  const job::Budget budget = budget_of(settings.memory);
  const Machine machine = examine_machine(settings.out, remarks);
  if (!json) cli::print_text(machine);

  std::optional<job::ScannedData> train;
  std::optional<job::ScannedData> validation;
  std::optional<RunOutlook> outlook;
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
    outlook = find_outlook(settings, *train);
    judge(*outlook, *train, machine, remarks);
    if (std::string note = job::grey_note(settings.model, train->report); !note.empty())
      remarks.push_back({Severity::note, train->name, std::move(note), ""});
    plan_run(settings, *train, validation, budget, threads, *outlook, remarks);
    if (!json) print_text(*outlook);
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
    if (outlook) {
      result["run"] = run_json(*outlook);
      result["plan"] = plan_json(*outlook);
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
  const auto settings = std::make_shared<CheckSettings>();
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
    settings->check_sharding();
    settings->has_data = command.count("--data") > 0;
    return run(*settings);
  };
}

}  // namespace plimsoll::cli
