#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "base/stopwatch.h"
#include "cli/commands.h"
#include "cli/data_options.h"
#include "cli/data_report.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/picture_page.h"
#include "cli/progress.h"
#include "kernels/fma_peak.h"
#include "ops/table.h"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kMostShown = 50;

struct Settings {
  CommonOptions common;
  ModelOptions model;
  DataOptions data_options;
  std::optional<std::string> data;
  std::optional<std::string> validation;
  std::string out = "runs";
  std::string pictures;
};

ScannedData open_and_scan(const std::string& name, SourceOptions options, ScanOptions scan_options,
                          bool quiet) {
  ScannedData data{.name = name};
  {
    const Stopwatch watch;
    PhaseBar bar("listing " + name, quiet);
    options.progress = [&](std::int64_t done, std::int64_t total) {
      bar.show(done, total, watch.seconds(), to_string(Bytes{done}));
    };
    data.source = open_source(name, options);
  }
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
  PipelineBytes bytes;
  double delivered = 0;  // images/s that one core reads and decodes
  double most = 0;       // images/s that training could take if every core ran at its peak
};

// Multiplications and additions of a training step per image: forward, and twice that backward.
double flops_per_image(const ModelOptions& options) {
  nn::Input input = options.input();
  input.batch = 1;
  nn::Builder builder(op_table(), input, nn::Mode::training);
  options.factory()(builder);
  double flops = 0;
  const Graph& graph = builder.graph();
  for (const Node& node : graph.nodes()) {
    const bool is_arithmetic = node.op->name.starts_with("conv2d") ||
                               node.op->name.starts_with("depthwise") ||
                               node.op->name.starts_with("dense");
    if (node.op->cost == nullptr || !is_arithmetic) continue;
    std::vector<Spec> in;
    std::vector<Spec> out;
    for (const ValueId id : node.in) in.push_back(graph.spec(id));
    for (const ValueId id : node.out) out.push_back(graph.spec(id));
    flops += node.op->cost(node.attrs, in, out).flops;
  }
  return 3 * flops;
}

Meaning find_meaning(const Settings& settings, const ScannedData& data, int threads) {
  Meaning meaning{.model = settings.model.model, .input = settings.model.input()};
  const PipelineSettings pipeline{
      .batch = meaning.input.batch,
      .image = {.height = meaning.input.image.h, .width = meaning.input.image.w},
      .channels = static_cast<int>(meaning.input.channels),
      .workers = threads};
  meaning.bytes = pipeline_bytes(pipeline, data.source->index(), data.report.largest);
  meaning.delivered = data.report.images_per_second() / data.report.workers;
  meaning.most = kernels::measure_fma_peak_gflops() * 1e9 / flops_per_image(settings.model);
  return meaning;
}

void judge(const Meaning& meaning, const ScannedData& data, const Machine& machine,
           std::vector<Problem>& problems) {
  if (meaning.delivered * machine.usable < meaning.most)
    problems.push_back(
        {Severity::warning, data.name,
         fmt::format("{:.0f} images/s can be read on all cores and {} could take {:.0f}",
                     meaning.delivered * machine.usable, meaning.model, meaning.most),
         "training may wait for data; smaller pictures (a short side of 320 to 400) decode "
         "faster"});
  if (meaning.bytes.total() > tightest_limit(machine.limits).left)
    problems.push_back({Severity::error, data.name,
                        "input buffers alone would take " + to_string(meaning.bytes.total()),
                        "a smaller --batch or --image takes less"});
}

void print_text(const Meaning& meaning) {
  fmt::print("a run of {} at {}x{}, batch {}\n", meaning.model, meaning.input.image.h,
             meaning.input.image.w, meaning.input.batch);
  fmt::print("  input        {}: queue {}, workers {}, index {}\n",
             to_string(meaning.bytes.total()), to_string(meaning.bytes.queue),
             to_string(meaning.bytes.worker * meaning.bytes.workers),
             to_string(meaning.bytes.index));
  fmt::print(
      "  speed        a core reads {:.0f} images/s; training takes {:.1f} at most (every core at "
      "the "
      "peak just measured)\n",
      meaning.delivered, meaning.most);
}

void print_problems(const std::vector<Problem>& problems) {
  if (problems.empty()) return;
  fmt::print("findings\n");
  std::size_t shown = 0;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note})
    for (const Problem& problem : problems) {
      if (problem.severity != severity || ++shown > kMostShown) continue;
      fmt::print("  {:<8} {}: {}\n", name_of(severity), problem.where, problem.what);
      if (!problem.hint.empty()) fmt::print("           hint: {}\n", problem.hint);
    }
  if (shown > kMostShown) fmt::print("  ... and {} more (--json has all)\n", shown - kMostShown);
}

nlohmann::ordered_json problems_json(const std::vector<Problem>& problems) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Problem& problem : problems)
    list.push_back({{"severity", name_of(problem.severity)},
                    {"where", problem.where},
                    {"what", problem.what},
                    {"hint", problem.hint}});
  return list;
}

// `bad`: how many of the errors are samples that --bad-files skip would leave out.
std::string verdict(std::int64_t errors, std::int64_t warnings, std::int64_t bad,
                    const std::optional<ScannedData>& train) {
  const auto counted = [](std::int64_t count, const char* one, const char* many) {
    return count == 1 ? std::string(one) : fmt::format("{} {}", count, many);
  };
  if (errors > 0)
    return fmt::format("A run would fail: {} to mend{}.", counted(errors, "1 error", "errors"),
                       errors == bad ? ", or to leave out with --bad-files skip" : "");
  std::string text = "The machine is ready for a run";
  if (train)
    text = train->source->has_boxes() ? "The data is sound; training on boxes is not there yet"
                                      : "A run would work";
  if (warnings > 0)
    text += fmt::format("; {} to look at", counted(warnings, "1 warning", "warnings"));
  return text + ".";
}

int run(const Settings& settings) {
  const int threads = settings.common.apply_threads();
  const bool json = settings.common.json;
  std::vector<Problem> problems;
  nlohmann::ordered_json result;
  const Machine machine = examine_machine(settings.out, problems);
  if (!json) print_text(machine);

  std::optional<ScannedData> train;
  std::optional<ScannedData> validation;
  std::optional<Meaning> meaning;
  // Huge pictures are looked at one after the other rather than beyond what the container gives.
  const ScanOptions scan_options{.workers = threads,
                                 .channels = static_cast<int>(settings.model.input().channels),
                                 .memory = tightest_limit(machine.limits).left / 2};
  const auto look = [&](const std::optional<std::string>& name, const SourceOptions& options,
                        std::optional<ScannedData>& data) {
    if (!name) return;
    try {
      data = open_and_scan(*name, options, scan_options, settings.common.quiet);
    } catch (const Error& error) {
      problems.push_back(to_problem(error.complaint()));
      return;
    }
    if (!json) print_text(*data);
    find_problems(*data, problems);
  };
  look(settings.data, settings.data_options.source_options(), train);
  SourceOptions of_validation = settings.data_options.source_options();
  if (train) of_validation.class_names = train->source->class_names();
  if (settings.validation == settings.data) of_validation.part = "test";
  look(settings.validation, of_validation, validation);
  if (train && validation) find_problems(*train, *validation, problems);
  if (train) {
    meaning = find_meaning(settings, *train, threads);
    judge(*meaning, *train, machine, problems);
    if (!json) print_text(*meaning);
    if (!settings.pictures.empty()) {
      const auto page = write_picture_page(*train, settings.pictures);
      fmt::print(json ? stderr : stdout, "pictures       {}\n", page.string());
    }
  }

  const auto errors = std::ranges::count(problems, Severity::error, &Problem::severity);
  const auto warnings = std::ranges::count(problems, Severity::warning, &Problem::severity);
  if (json) {
    result["ok"] = errors == 0;
    result["machine"] = to_json(machine);
    result["data"] = train ? to_json(*train) : nlohmann::ordered_json(nullptr);
    if (validation) result["data"]["validation"] = to_json(*validation);
    if (meaning)
      result["run"] = {{"model", meaning->model},
                       {"batch", meaning->input.batch},
                       {"image", {meaning->input.image.h, meaning->input.image.w}},
                       {"input_bytes", meaning->bytes.total().count},
                       {"images_per_second_per_core", meaning->delivered},
                       {"images_per_second_at_most", meaning->most}};
    result["problems"] = problems_json(problems);
    fmt::print("{}", json_text(result));
  } else {
    print_problems(problems);
    std::int64_t bad = 0;
    for (const auto* data : {&train, &validation})
      if (*data && std::cmp_less((*data)->report.bad.size(), (*data)->source->size()))
        bad += (*data)->bad();
    fmt::print("{}\n", verdict(errors, warnings, bad, train));
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace

Action add_check(CLI::App& command) {
  const auto settings = std::make_shared<Settings>();
  command.add_option("DATA", settings->data,
                     "what `train` would be given; without it the machine alone");
  command.add_option("--val", settings->validation, "validation data: checked too, and for leaks");
  command.add_option("--out", settings->out, "where runs will be written")->capture_default_str();
  command.add_option("--pictures", settings->pictures,
                     "folder for a page of samples with labels and boxes");
  settings->data_options.add_to(command);
  settings->common.add_to(command);
  settings->model.add_to(command);
  command.footer(
      "Exit code 1: a run would fail.\nExample: plimsoll check flowers/ --model xception "
      "--pictures "
      "look/");
  return [settings] { return run(*settings); };
}

}  // namespace plimsoll::cli
