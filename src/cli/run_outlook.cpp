#include "cli/run_outlook.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "cli/plan_text.h"
#include "kernels/fma_peak.h"
#include "ops/table.h"

namespace plimsoll::cli {
namespace {

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
job::TrainingData usable_data(const job::TrainingSettings& settings, const job::ScannedData& train,
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

}  // namespace

void plan_run(job::TrainingSettings& settings, const job::ScannedData& train,
              const std::optional<job::ScannedData>& validation, const job::Budget& budget,
              int threads, RunOutlook& outlook, std::vector<Remark>& remarks) {
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
      outlook.coverage = job::anchor_coverage(settings.model, *data.train, base);
      remarks.push_back(
          {job::is_well_covered(outlook.coverage) ? Severity::note : Severity::warning, train.name,
           job::coverage_text(outlook.coverage, base), ""});
    }
    job::Ready ready = job::make_ready(settings, &data, budget, threads);
    settings.check_patterns(ready.trainer);
    outlook.input = settings.model.input();
    outlook.run = ready.run;
    job::require_fit(ready, settings, &data, threads);
  } catch (const Error& error) {
    remarks.push_back(to_remark(error.complaint()));
    outlook.why_not = remarks.back().what;
  }
}

RunOutlook find_outlook(const job::TrainingSettings& settings, const job::ScannedData& data) {
  return {.model = settings.model.title(),
          .input = settings.model.input(),
          .run = {},
          .why_not = {},
          .delivered = data.report.images_per_second() / data.report.workers,
          .most = kernels::measure_peak_gflops(settings.model.input().lanes,
                                               settings.model.multiplies_short()) *
                  1e9 / flops_per_image(settings.model)};
}

void judge(const RunOutlook& outlook, const job::ScannedData& data, const Machine& machine,
           std::vector<Remark>& remarks) {
  if (outlook.delivered * machine.usable < outlook.most)
    remarks.push_back(
        {Severity::warning, data.name,
         fmt::format("{:.0f} images/s can be read on all cores and {} could take {:.0f}",
                     outlook.delivered * machine.usable, outlook.model, outlook.most),
         "training may wait for data; smaller pictures (a short side of 320 to 400) decode "
         "faster"});
}

void print_text(const RunOutlook& outlook) {
  fmt::print("a run of {} at {}x{}, batch {}\n", outlook.model, outlook.input.image.h,
             outlook.input.image.w, outlook.input.batch);
  fmt::print(
      "  speed        a core reads {:.0f} images/s; training takes {:.1f} at most (every core at "
      "the "
      "peak just measured)\n",
      outlook.delivered, outlook.most);
  if (!outlook.coverage.empty()) {
    fmt::print("  boxes on it  {:<16} {:>7}  {:>15}  {:>7}\n", "class", "boxes", "side 5-50-95 %",
               "reached");
    for (const job::AnchorCoverage& one : outlook.coverage)
      fmt::print("               {:<16} {:>7}  {:>15}  {:>5.0f} %\n", one.name, one.boxes,
                 fmt::format("{:.0f} {:.0f} {:.0f}", one.sides[0], one.sides[1], one.sides[2]),
                 100 * one.share());
  }
  if (!outlook.run) return;
  fmt::print("  {}\n{}\n", budget_text(outlook.run->budget), ledger_text(*outlook.run));
  fmt::print("  smallest budget {} · fastest plan {}\n",
             to_string(Bytes{outlook.run->plan.floor_bytes}),
             to_string(Bytes{outlook.run->plan.unlimited_bytes}));
}

nlohmann::ordered_json run_json(const RunOutlook& outlook) {
  nlohmann::ordered_json json{{"model", outlook.model},
                              {"batch", outlook.input.batch},
                              {"image", {outlook.input.image.h, outlook.input.image.w}},
                              {"images_per_second_per_core", outlook.delivered},
                              {"images_per_second_at_most", outlook.most}};
  for (const job::AnchorCoverage& one : outlook.coverage)
    json["anchors"].push_back({{"name", one.name}, {"boxes", one.boxes}, {"reached", one.share()}});
  return json;
}

nlohmann::ordered_json plan_json(const RunOutlook& outlook) {
  nlohmann::ordered_json json;
  if (outlook.run) json = plan_summary_json(*outlook.run);
  if (!outlook.why_not.empty()) {
    json["fits"] = false;
    json["reason"] = outlook.why_not;
  }
  return json;
}

}  // namespace plimsoll::cli
