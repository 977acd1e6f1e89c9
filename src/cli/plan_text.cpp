#include "cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory_usage.h"

namespace plimsoll::cli {
namespace {

std::string size_text(std::int64_t bytes) { return to_string(Bytes{bytes}); }

}  // namespace

std::string budget_size_text(const job::Budget& budget) {
  return budget.bytes == kUnlimited.count ? "unlimited" : size_text(budget.bytes);
}

std::string budget_text(const job::Budget& budget) {
  return fmt::format("budget {} ({})", budget_size_text(budget), budget.bound_by);
}

std::string ledger_text(const job::PlannedRun& run) {
  std::string text = fmt::format("  {:<30}{:>12}\n", "memory, predicted", "");
  for (const LedgerLine& line : run.plan.ledger.lines)
    if (line.bytes != 0) text += fmt::format("  {:<30}{:>12}\n", line.line, size_text(line.bytes));
  return text + fmt::format("  {:<30}{:>12}   of {}\n", "total", size_text(run.plan.total_bytes),
                            budget_size_text(run.budget));
}

nlohmann::ordered_json plan_summary_json(const job::PlannedRun& run) {
  nlohmann::ordered_json json{{"budget_bytes", nullptr},
                              {"fits", run.plan.fits},
                              {"total_bytes", run.plan.total_bytes},
                              {"floor_bytes", run.plan.floor_bytes},
                              {"unlimited_bytes", run.plan.unlimited_bytes},
                              {"ledger", nlohmann::ordered_json::array()}};
  if (run.budget.bytes != kUnlimited.count) json["budget_bytes"] = run.budget.bytes;
  for (const LedgerLine& line : run.plan.ledger.lines)
    json["ledger"].push_back({{"line", line.line}, {"bytes", line.bytes}});
  return json;
}

std::string means_text(const Trainer& trainer, const job::PlannedRun& run) {
  const FateShares shares = shares_of(trainer.tapes().problem(0), run.plan.fates);
  std::string text;
  const auto add = [&](const char* what, const FateShare& share) {
    if (share.tensors == 0) return;
    text += fmt::format("{}{} {} tensors ({})", text.empty() ? "" : ", ", what, share.tensors,
                        size_text(share.bytes));
  };
  add("keeps", shares.kept);
  add("recomputes", shares.recomputed);
  add("holds in 16 bits", shares.half);
  add("spills", shares.spilled);
  return text + fmt::format(" · predicted {:.1f} % slower than without a limit",
                            run.plan.slowdown_percent);
}

std::string memory_text(std::int64_t predicted_bytes) {
  return fmt::format("memory: {} predicted, {} measured", size_text(predicted_bytes),
                     to_string(memory_usage().peak()));
}

void add_memory(nlohmann::ordered_json& json, std::int64_t predicted_bytes) {
  json["predicted_bytes"] = predicted_bytes;
  json["measured_peak_bytes"] = memory_usage().peak().count;
}

std::string lossy_text(const job::TrainingSettings& settings) {
  const job::MemorySettings& options = settings.memory;
  const bool two_stages = settings.model.network().two_stages;
  std::string text;
  if (settings.model.is_short())
    text += fmt::format(
        "note: --precision bf16 is lossy: what lies between layers is rounded to 8 significant "
        "bits{}\n",
        settings.model.multiplies_short() ? ""
                                          : "; with these instructions it saves memory, not time");
  if (options.stash == "f16")
    text +=
        "note: --stash f16 is lossy: gradients are computed from activations rounded to 16 bits\n";
  if (options.accumulate > 1 && !options.syncs())
    text += fmt::format(
        "note: --accumulate {} is not the whole batch: BatchNorm sees each of the {} parts on its "
        "own{}\n",
        options.accumulate, options.accumulate,
        two_stages ? ", and so do the losses, which are means over what is drawn" : "");
  if (options.syncs() && two_stages)
    text += fmt::format(
        "note: --accumulate {} is not the whole batch: the losses of each part are means over what "
        "is drawn from it\n",
        options.accumulate);
  return text;
}

std::string peak_text(const Trainer& trainer, const job::PlannedRun& run) {
  const Usage usage = usage_of(trainer.tapes().problem(0), run.plan.fates);
  std::string text = fmt::format("fullest at step {} of {}, {}:\n", usage.peak_step + 1,
                                 usage.steps.size(), usage.step_names[usage.peak_step]);
  for (std::size_t i = 0; i < std::min<std::size_t>(6, usage.at_peak.size()); ++i)
    text += fmt::format("  {:<10} {:<34}{:>12}\n",
                        kUseNames[static_cast<std::size_t>(usage.at_peak[i].use)],
                        usage.at_peak[i].name, size_text(usage.at_peak[i].bytes));
  return text;
}

}  // namespace plimsoll::cli
