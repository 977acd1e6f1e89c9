#include "step/step_graph.h"

#include <fnmatch.h>

#include "autodiff/autodiff.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/calls.h"
#include "step/met_statistics.h"
#include "step/part_gradients.h"
#include "step/updates.h"

namespace plimsoll {
namespace {

// A network's graph with what the later stages need to know about it.
struct Forward {
  Graph graph;
  nn::Heads heads;
  std::vector<nn::RunningStatistics> running;
  StepGraph step;
};

Forward build_forward(const OpTable& ops, const nn::Input& input, const NetworkFactory& network,
                      const Task& task, nn::Mode mode, const Tuning& tuning, Fusion fusion,
                      bool meets = false) {
  nn::Builder builder(ops, input, mode,
                      [&](std::string_view layer) { return is_frozen(tuning, layer); });
  builder.make_regions_by(
      [&](Graph& graph, const std::vector<nn::Level>& levels, const nn::RegionOptions& options) {
        return task.regions(graph, levels, options, mode == nn::Mode::training);
      });
  const nn::Heads heads = network(builder);
  Forward forward{
      builder.graph(), heads, builder.running_statistics(), {.tape = TapeRequest{Graph(ops)}}};
  forward.step.layers = nn::layers_of(builder, heads);
  for (const nn::Layer& layer : forward.step.layers)
    for (const nn::Parameter& parameter : layer.parameters)
      forward.step.parameters.push_back(parameter);
  Keep keep{&forward.heads.logits, &forward.heads.auxiliary};
  for (nn::Level& level : forward.heads.levels)
    keep.insert(keep.end(), {&level.features, &level.scores, &level.deltas});
  nn::SecondStage& second = forward.heads.second;
  nn::Regions& regions = second.regions;
  keep.insert(keep.end(),
              {&second.scores, &second.deltas, &regions.boxes, &regions.labels, &regions.targets,
               &regions.weights, &regions.proposals, &regions.counts});
  for (ValueId& level : second.features) keep.push_back(&level);
  for (nn::RunningStatistics& r : forward.running)
    for (ValueId* id : {&r.moving_mean, &r.moving_variance, &r.mean, &r.variance})
      keep.push_back(id);
  if (fusion == Fusion::full) {
    forward.graph = fuse(forward.graph, keep);
    MergedGraph merged = merge_siblings(forward.graph, keep, [&](const Value& weight) {
      return lr_factor(tuning, weight.layer, weight.name);
    });
    forward.graph = std::move(merged.graph);
    forward.step.merged = std::move(merged.merged);
  }
  if (meets) forward.graph = meet_statistics(forward.graph, keep);
  return forward;
}

TaskValues append_task(Graph& graph, const Task& task, const nn::Heads& heads, bool training) {
  const PhaseScope phase(graph, Phase::loss);
  return task.append(graph, heads, training);
}

// The penalty for large weights; none where nothing asks for it.
ValueId append_penalty(Graph& graph, double l2) {
  Values kernels;
  if (l2 > 0)
    for (const ValueId id : parameters_of(graph))
      if (graph.spec(id).shape.rank() > 1) kernels.push_back(id);
  if (kernels.empty()) return kNoValue;
  const PhaseScope phase(graph, Phase::loss);
  return ops::l2(graph, kernels, l2, "l2");
}

ValueId with_penalty(Graph& graph, ValueId loss, ValueId penalty) {
  if (!penalty) return loss;
  const PhaseScope phase(graph, Phase::loss);
  const LayerScope scope(graph, "loss");
  return ops::add(graph, {loss, penalty}, "loss/with_l2");
}

std::vector<Section> sections_of(const std::vector<TaskValues::Part>& parts) {
  std::vector<Section> sections;
  for (const TaskValues::Part& part : parts) sections.push_back({part.features, part.loss});
  return sections;
}

// What updates ask before they change anything.
ValueId append_norm(Graph& graph, ValueId loss, const std::vector<Gradient>& gradients) {
  const PhaseScope phase(graph, Phase::backward);
  Values values;
  for (const Gradient& gradient : gradients) values.push_back(gradient.value);
  return ops::global_norm(graph, loss, values, "norm");
}

// A part's share of the batch; none of a batch in one piece.
ValueId share_of(Graph& graph, Part part) {
  return part == Part::whole ? kNoValue : graph.add_value("share", plain({1}), Role::input);
}

std::vector<Gradient> append_gradients(Graph& graph, const TaskValues& measures, ValueId total,
                                       ValueId penalty, ValueId share) {
  if (!measures.parts.empty())
    return append_backward_by_parts(graph, measures.parts, penalty, share);
  if (!share) return append_backward(graph, total);
  return append_backward(graph, {{total, share}}, parameters_of(graph));
}

// What parts add up beside gradients: the loss, which is looked at with the norm, and the batch
// statistics, each times the part's share.
void append_shares(Graph& graph, ValueId share, ValueId& loss,
                   std::vector<nn::RunningStatistics>& running) {
  const PhaseScope phase(graph, Phase::backward);
  const auto weigh = [&](ValueId& id) {
    const LayerScope scope(graph, graph.layer_of(id));
    id = ops::scale(graph, id, share, graph.value(id).name + "/share");
  };
  for (nn::RunningStatistics& r : running)
    for (ValueId* id : {&r.mean, &r.variance}) weigh(*id);
  weigh(loss);
}

std::vector<Summed> all_summed(const Graph& graph, std::vector<Gradient>& gradients, ValueId& loss,
                               std::vector<nn::RunningStatistics>& running) {
  std::vector<Summed> summed;
  for (Gradient& gradient : gradients)
    summed.push_back({&gradient.value, graph.value(gradient.of).name});
  for (nn::RunningStatistics& r : running) {
    summed.push_back({&r.mean, graph.value(r.moving_mean).name});
    summed.push_back({&r.variance, graph.value(r.moving_variance).name});
  }
  summed.push_back({&loss, "loss"});
  return summed;
}

void append_statistics(Graph& graph, const nn::RunningStatistics& r, double momentum,
                       ValueId norm) {
  const LayerScope scope(graph, graph.layer_of(r.moving_mean));
  ops::bn_update(graph, {r.moving_mean, r.moving_variance}, {r.mean, r.variance}, norm, momentum,
                 graph.value(r.moving_mean).name + "/update");
}

}  // namespace

std::string slot_name(std::string_view weight, std::string_view slot) {
  return "optimizer/" + std::string(weight) + "/" + std::string(slot);
}

std::string average_name(std::string_view weight) { return "average/" + std::string(weight); }

std::string followed_weight(std::string_view resident, Role role) {
  if (role == Role::average) return std::string(resident.substr(average_name("").size()));
  if (role != Role::optimizer) return std::string(resident);
  const std::string_view rest = resident.substr(std::string_view("optimizer/").size());
  return std::string(rest.substr(0, rest.rfind('/')));
}

bool matches(const std::string& pattern, std::string_view name) {
  return ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

bool is_frozen(const Tuning& tuning, std::string_view layer) {
  bool frozen = false;
  for (const std::string& pattern : tuning.frozen) {
    const bool excepts = pattern.starts_with('!');
    if (matches(pattern.substr(excepts ? 1 : 0), layer)) frozen = !excepts;
  }
  return frozen;
}

double lr_factor(const Tuning& tuning, std::string_view layer, std::string_view weight) {
  double factor = 1;
  for (const auto& [pattern, value] : tuning.lr_factors)
    if (matches(pattern, pattern.find('/') == std::string::npos ? layer : weight)) factor = value;
  return factor;
}

StepGraph training_graph(const OpTable& ops, const nn::Input& input, const NetworkFactory& network,
                         const Task& task, double l2, const OptimizerOptions& optimizer,
                         const Tuning& tuning, Fusion fusion, const PartRequest& part) {
  const OptimizerOp rule = optimizer_op(optimizer);
  Forward forward =
      build_forward(ops, input, network, task, nn::Mode::training, tuning, fusion, part.meets);
  Graph& graph = forward.graph;
  const TaskValues measures = append_task(graph, task, forward.heads, true);
  Values results = measures.results;
  const ValueId share = share_of(graph, part.part);
  const ValueId penalty = append_penalty(graph, l2);
  ValueId loss = with_penalty(graph, measures.loss, penalty);
  std::vector<Gradient> gradients = append_gradients(graph, measures, loss, penalty, share);
  if (share) append_shares(graph, share, loss, forward.running);

  ValueId norm = share ? kNoValue : append_norm(graph, loss, gradients);
  Keep keep{&norm, &loss};
  for (ValueId& id : results) keep.push_back(&id);
  for (Gradient& gradient : gradients) {
    keep.push_back(&gradient.of);
    keep.push_back(&gradient.value);
  }
  for (nn::RunningStatistics& r : forward.running)
    for (ValueId* id : {&r.moving_mean, &r.moving_variance, &r.mean, &r.variance})
      keep.push_back(id);
  if (!measures.parts.empty()) graph = run_by_section(graph, sections_of(measures.parts), keep);
  if (fusion == Fusion::full) {
    graph = fold_gradient_sums(graph, keep);
    graph = fold_normalisation(graph, keep);
  }
  if (share) {
    graph = sum_over_parts(graph, all_summed(graph, gradients, loss, forward.running), part, keep);
    if (part.part != Part::early) norm = append_norm(graph, loss, gradients);
  }
  // Updates come last: a step that is not finite leaves every resident as it was.
  if (norm) {
    const PhaseScope phase(graph, Phase::update);
    append_updates(graph, gradients, rule, tuning, part, norm, &forward.step);
    for (const nn::RunningStatistics& r : forward.running)
      append_statistics(
          graph, r, tuning.batch_norm_momentum > 0 ? tuning.batch_norm_momentum : r.momentum, norm);
    results.push_back(norm);
  }
  std::vector<NodeId> meetings = meetings_of(graph);
  for (const NodeId meeting : meetings)
    forward.step.met_channels.push_back(graph.spec(graph.node(meeting).out[0]).shape[0]);
  if (part.part == Part::none) {
    meetings.clear();
    graph = behind_exchanges(graph, {&norm});
    results = {norm};
  }
  forward.step.tape = {
      .graph = std::move(graph), .results = results, .meetings = std::move(meetings)};
  return std::move(forward.step);
}

StepGraph evaluation_graph(const OpTable& ops, const nn::Input& input,
                           const NetworkFactory& network, const Task& task, const Tuning& tuning,
                           Fusion fusion) {
  Forward forward = build_forward(ops, input, network, task, nn::Mode::inference, tuning, fusion);
  const TaskValues measures = append_task(forward.graph, task, forward.heads, false);
  Values results = measures.results;
  Keep keep;
  for (ValueId& id : results) keep.push_back(&id);
  if (!measures.parts.empty())
    forward.graph = run_by_section(forward.graph, sections_of(measures.parts), keep);
  if (fusion == Fusion::full) forward.graph = fold_normalisation(forward.graph, keep);
  forward.step.tape = {.graph = std::move(forward.graph), .results = results};
  return std::move(forward.step);
}

}  // namespace plimsoll
