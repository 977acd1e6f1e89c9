#include "job/begin_weights.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "interop/match.h"
#include "step/averages.h"
#include "zoo/zoo.h"

namespace plimsoll::job {
namespace {

// Of each kind; `plimsoll import FILE --model NETWORK` lists all.
constexpr std::size_t kMostListed = 20;

// Those of other shapes first, then what the file lacks, then what the network lacks.
std::string list_text(const std::vector<interop::Mismatch>& mismatches) {
  std::string text;
  const auto list = [&](bool has_ours, bool has_theirs) {
    std::size_t count = 0;
    for (const interop::Mismatch& m : mismatches) {
      if (m.ours.empty() == has_ours || m.theirs.empty() == has_theirs) continue;
      if (++count <= kMostListed)
        text += fmt::format("\n  {}: {}", has_ours ? m.ours : "(the network has none)",
                            has_theirs ? m.theirs : "(the file has none)");
    }
    if (count > kMostListed)
      text += fmt::format("\n  and {} more; `plimsoll import` lists all", count - kMostListed);
  };
  list(true, true);
  list(true, false);
  list(false, true);
  return text;
}

// Puts what the file's optimizer remembered in the place of what ours remembers. A part of it is
// worse than nothing: the count of steps is one for all weights.
void take_optimizer(const interop::ImportedFile& file, const interop::Matching& matching,
                    const std::string& optimizer, const Trainer& trainer, Begun& begun) {
  const interop::ImportedOptimizer& theirs = file.optimizer;
  if (theirs.name.empty() || optimizer.empty()) return;
  const auto leave = [&](const std::string& why) {
    begun.news.push_back(
        fmt::format("the state of the file's optimizer, {}, is not taken: {}", theirs.name, why));
  };
  // AdamW remembers what Adam does.
  if (theirs.name != (optimizer == "adamw" ? "adam" : optimizer)) {
    leave("this run has --optimizer " + optimizer);
    return;
  }
  std::map<std::size_t, const interop::Match*> weights;
  for (const interop::Match& match : matching.matches) weights[match.tensor] = &match;
  std::map<std::string, interop::Match> slots;
  for (const interop::ImportedSlot& slot : theirs.slots)
    if (const auto of = weights.find(slot.weight); of != weights.end()) {
      const std::string name = slot_name(of->second->parameter, slot.slot);
      slots[name] = {name, slot.tensor, of->second->axes};
    }
  const std::vector<NamedTensor> ours = slot_tensors(trainer.session(), trainer.step_graph());
  std::vector<interop::Match> taken;
  for (const NamedTensor& slot : ours) {
    const auto found = slots.find(slot.name);
    if (found == slots.end()) {
      leave("it has nothing for " + slot.name);
      return;
    }
    taken.push_back(found->second);
  }
  const Shards shards = trainer.shards();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    shards.clear(ours[i]);
    interop::load(file, {taken[i]}, {ours[i]});
    shards.store(ours[i]);
  }
  begun.optimizer_steps = theirs.steps;
  begun.news.push_back(fmt::format("the optimizer goes on: {}, {} tensors, {} steps done",
                                   theirs.name, taken.size(), theirs.steps));
}

}  // namespace

Begun begin_with(const interop::ImportedFile& file, const Beginning& how, const Trainer& trainer) {
  const std::string path = file.path.string();
  if (file.tensors == nullptr)
    throw DataError({.where = path,
                     .got = file.format + " without weights",
                     .expected = "expected a file with weights",
                     .hint = "--model takes a network's description"});
  const StepGraph& step = trainer.step_graph();
  const interop::Matching matching = interop::match(file, step.layers, how.by_name);
  const auto& left = matching.mismatches;
  if (matching.matches.empty() ||
      (!left.empty() && !how.by_name && (how.whole || !matching.replaces_head)))
    throw DataError(
        {.where = path,
         .got = fmt::format("{}: {} of the network's weights match, {} do not:{}", file.format,
                            matching.matches.size(), left.size(), list_text(left)),
         .expected = how.whole ? "expected weights of the same network"
                               : "expected weights of the same network, its head excepted",
         .hint = file.network.empty() || how.by_name
                     ? "--weights-by-name takes those alone whose layers have the same names"
                     : "these are of --model " + file.network});
  interop::load(file, matching.matches, weight_tensors(trainer.session(), step));
  start_averages(trainer.shards());
  Begun begun;
  begun.news.push_back(
      fmt::format("weights from {}: {}, {} tensors", path, file.format, matching.matches.size()));
  begun.news.insert(begun.news.end(), file.notes.begin(), file.notes.end());
  if (matching.replaces_head)
    begun.news.push_back("the head is new, it begins with random weights:" + list_text(left));
  else if (!left.empty())
    begun.news.push_back("not taken:" + list_text(left));
  take_optimizer(file, matching, how.optimizer, trainer, begun);
  return begun;
}

Begun begin_with(const std::string& path, const Beginning& how, const Trainer& trainer) {
  return begin_with(interop::open_imported(path), how, trainer);
}

std::string wanted_preprocessing(const std::string& path) {
  const interop::ImportedFile file = interop::open_imported(path);
  if (!file.preprocessing.empty()) return file.preprocessing;
  const zoo::Network* known = zoo::find_known(file.network);
  return known == nullptr ? "" : known->preprocessing;
}

}  // namespace plimsoll::job
