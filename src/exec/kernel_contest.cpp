#include "exec/kernel_contest.h"

#include <algorithm>
#include <memory>
#include <span>

#include "base/stopwatch.h"
#include "plan/problem.h"
#include "tensor/arena.h"

namespace plimsoll {
namespace {

// Operands in memory as a run has it.
class Operands {
 public:
  Operands(const Graph& graph, const Values& ids) {
    for (ValueId id : ids) {
      const Spec& spec = graph.spec(id);
      arenas_.push_back(std::make_unique<Arena>(round_up(spec.bytes(), kAlignment)));
      views_.push_back(
          {.data = arenas_.back()->at(0), .spec = spec, .image_stride = spec.image_elements()});
      operands_.push_back({.spec = spec});
      if (widened(spec.dtype) == DType::f32) fill(views_.back());
    }
  }
  std::span<const Operand> operands() const { return operands_; }
  std::span<const TensorView> views() const { return views_; }

 private:
  // Not zeros, which some processors multiply faster, and nothing that grows or underflows.
  static void fill(const TensorView& view) {
    std::uint32_t state = 1;
    for_element(view.spec.dtype, [&]<class T>(T) {
      for (std::int64_t i = 0; i < view.spec.stored_elements(); ++i) {
        state = state * 1664525U + 1013904223U;
        view.as<T>()[i] = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5F;
      }
    });
  }

  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<TensorView> views_;
  std::vector<Operand> operands_;
};

struct Contender {
  const Kernel* kernel;
  std::unique_ptr<Job> job;
  std::unique_ptr<Arena> scratch;
  std::vector<double> seconds;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<KernelTime> hold_contest(const Graph& graph, const Node& node,
                                     const Environment& environment, int rounds) {
  const Operands in(graph, node.in), out(graph, node.out);
  std::vector<Contender> contenders;
  for (const Kernel& kernel : std::span(node.op->kernels).first(node.op->kernels.size() - 1))
    if (auto job = prepare(kernel, {node.attrs, in.operands(), out.operands(), environment})) {
      job->compile();
      auto scratch = std::make_unique<Arena>(round_up(job->scratch() + 1, kAlignment));
      contenders.push_back({&kernel, std::move(job), std::move(scratch), {}});
    }
  double fastest = 0;
  for (int round = -1; round < rounds; ++round)
    for (Contender& c : contenders) {
      if (!c.seconds.empty() && c.seconds[0] > 3 * fastest) continue;
      const Stopwatch watch;
      c.job->run({.in = in.views(), .out = out.views(), .scratch = c.scratch->at(0)});
      if (round < 0) continue;  // it touched its memory for the first time
      c.seconds.push_back(watch.seconds());
      fastest = fastest == 0 ? c.seconds.back() : std::min(fastest, c.seconds.back());
    }
  std::vector<KernelTime> times;
  for (const Contender& c : contenders)
    times.push_back({c.kernel, median(c.seconds), c.job->scratch()});
  return times;
}

}  // namespace plimsoll
