#include "cli/layer_times.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/stopwatch.h"

namespace plimsoll::cli {
namespace {

void add_word(std::string& words, std::string_view word) {
  if (words.find(word) == std::string::npos)
    words += (words.empty() ? "" : ",") + std::string(word);
}

std::string text_of(const PassTime& pass, double peak_gflops) {
  if (pass.flops == 0) return fmt::format("{:>31}", "");
  const double gflops = pass.flops / pass.seconds * 1e-9;
  return fmt::format("{:>8.2f} {:>5.0f} {:>3.0f} {:<12}", pass.seconds * 1e3, gflops,
                     100 * gflops / peak_gflops, pass.kernels);
}

// What a row is called: the layer, and of one that is called several times, as a detector's heads
// are level by level, the rows and columns of the images it is called with.
class RowNames {
 public:
  RowNames(const Graph& graph, const std::vector<nn::Layer>& layers) : graph_(graph) {
    for (const nn::Layer& layer : layers)
      if (layer.calls.size() > 1) shared_.insert(layer.name);
  }

  std::string of(const Node& node) const {
    if (!shared_.contains(node.layer)) return node.layer;
    for (const Values* operands : {&node.out, &node.in})
      for (const ValueId id : *operands)
        if (const Spec& spec = graph_.spec(id); spec.layout == Layout::blocked)
          return fmt::format("{} {}x{}", node.layer, spec.shape[2], spec.shape[3]);
    return node.layer;
  }

 private:
  const Graph& graph_;
  std::set<std::string_view> shared_;
};

}  // namespace

StepTimes measure_layers(Trainer& trainer) {
  Session& session = trainer.session();
  const Graph& graph = session.graph(0);
  std::set<std::string_view> norms;
  for (const nn::Layer& layer : trainer.step_graph().layers)
    if (layer.type == "BatchNormalization") norms.insert(layer.name);
  const RowNames names(graph, trainer.step_graph().layers);
  StepTimes times;
  std::map<std::string, std::size_t> index;
  const std::vector<Instruction>& instructions = session.tape(0).instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Stopwatch watch;
    session.run_instruction(0, i);
    const double seconds = watch.seconds();
    const bool runs = instructions[i].kind == StepKind::run;
    const std::string& layer =
        runs ? graph.node(instructions[i].node).layer : graph.layer_of(instructions[i].value);
    const std::string row = runs ? names.of(graph.node(instructions[i].node)) : layer;
    const auto [at, is_new] = index.try_emplace(row, times.layers.size());
    if (is_new) times.layers.push_back({.layer = row});
    LayerTime& time = times.layers[at->second];
    const Arithmetic kind =
        runs ? graph.node(instructions[i].node).op->arithmetic : Arithmetic::none;
    (kind != Arithmetic::none ? times.convolution
     : norms.contains(layer)  ? times.batch_norm
                              : times.rest) += seconds;
    if (!runs || instructions[i].again) {
      time.again += seconds;
    } else if (kind == Arithmetic::none) {
      time.other += seconds;
    } else {
      PassTime& pass = time.passes[static_cast<std::size_t>(kind) - 1];
      pass.seconds += seconds;
      pass.flops += cost_of(graph, graph.node(instructions[i].node)).flops;
      add_word(pass.kernels, session.prepared(0, instructions[i].node).kernel_name());
    }
  }
  return times;
}

void print_layers(const StepTimes& times, double peak_gflops) {
  fmt::print("{:<32}{:^31}{:^31}{:^31}{:>9}{:>9}\n", "", "forward", "input's gradient",
             "weights' gradient", "other", "again");
  fmt::print("{:<32}", "layer");
  for (int pass = 0; pass < 3; ++pass)
    fmt::print("{:>8} {:>5} {:>3} {:<12}", "ms", "GF/s", "%", "kernel");
  fmt::print("{:>9}{:>9}\n", "ms", "ms");
  for (const LayerTime& time : times.layers) {
    std::string row = fmt::format("{:<32}", time.layer);
    for (const PassTime& pass : time.passes) row += text_of(pass, peak_gflops);
    row += fmt::format("{:>9.2f}{:>9.2f}", time.other * 1e3, time.again * 1e3);
    for (const PassTime& pass : time.passes)
      if (pass.kernels.find("ref") != std::string::npos) row += "  <- slow reference path";
    fmt::print("{}\n", row);
  }
  const double step = times.convolution + times.batch_norm + times.rest;
  fmt::print("convolutions and dense layers {:.1f} %, BatchNorm {:.1f} %, the rest {:.1f} %\n",
             100 * times.convolution / step, 100 * times.batch_norm / step,
             100 * times.rest / step);
}

}  // namespace plimsoll::cli
