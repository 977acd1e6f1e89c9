// Heads that run one by one: the order of a graph, and what that does to its memory.
#include <gtest/gtest.h>

#include "ops/table.h"
#include "passes/passes.h"
#include "step/step_graph.h"
#include "step/trainer.h"
#include "task/detection.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

const nn::Input kInput{.batch = 2, .channels = 3, .image = {64, 96}};

NetworkFactory detector() {
  return [](nn::Builder& net) {
    return zoo::find_network("retinanet_mini").build(net, {.classes = 3});
  };
}

TaskPtr task() { return make_detection({.classes = 3, .anchor_base = 16, .most_boxes = 8}); }

// For every node that belongs to a tower: which call of its layer it is, and so which level.
std::string call_of(const Node& node) {
  const std::size_t at = node.name.find("/call_");
  return at == std::string::npos ? "0" : node.name.substr(at + 6, 1);
}

TEST(RunBySection, FinishesALevelsHeadBeforeTheNextBegins) {
  const StepGraph step = training_graph(op_table(), kInput, detector(), *task(), 0, {});
  verify(step.tape.graph);
  std::vector<std::string> towers;
  for (const Node& node : step.tape.graph.nodes()) {
    if (node.phase != Phase::loss || !node.layer.starts_with("head.")) continue;
    const std::string tower =
        (node.layer.starts_with("head.classification") ? "class " : "box ") + call_of(node);
    if (node.name.find("of_parts") != std::string::npos) continue;
    if (towers.empty() || towers.back() != tower) towers.push_back(tower);
  }
  EXPECT_EQ(towers,
            (std::vector<std::string>{"class 0", "box 0", "class 1", "box 1", "class 2", "box 2"}));
}

TEST(RunBySection, LeavesTheBodysBackwardBehindAllHeads) {
  const StepGraph step = training_graph(op_table(), kInput, detector(), *task(), 0, {});
  bool is_behind = false;
  for (const Node& node : step.tape.graph.nodes()) {
    is_behind = is_behind || node.phase == Phase::backward;
    EXPECT_TRUE(!node.layer.starts_with("backbone.") || node.phase != Phase::loss ||
                node.op->form == Form::sum)
        << node.name;
    EXPECT_FALSE(node.layer.starts_with("head.") && node.phase == Phase::backward) << node.name;
  }
  EXPECT_TRUE(is_behind);
}

// A detector whose losses are differentiated as one: what the parts must add up to.
class AsOne final : public Task {
 public:
  explicit AsOne(TaskPtr inner) : inner_(std::move(inner)) {}
  TaskValues append(Graph& graph, const nn::Heads& heads, bool training) const override {
    TaskValues values = inner_->append(graph, heads, training);
    values.parts.clear();
    return values;
  }
  std::string_view name() const override { return inner_->name(); }
  void fill(const Batch& batch, std::int64_t first, std::int64_t count,
            const StepTensors& inputs) const override {
    inner_->fill(batch, first, count, inputs);
  }
  void fill_synthetic(const StepTensors& step, std::int64_t count) const override {
    inner_->fill_synthetic(step, count);
  }
  const std::vector<Metric>& metrics() const override { return inner_->metrics(); }
  void read(const StepTensors& results, std::span<double> sums) const noexcept override {
    inner_->read(results, sums);
  }
  std::unique_ptr<Tally> make_tally(const std::filesystem::path& path) const override {
    return inner_->make_tally(path);
  }
  std::vector<Prediction> predict(const StepTensors& results, const Batch& batch, std::int64_t at,
                                  std::size_t most, bool raw) const override {
    return inner_->predict(results, batch, at, most, raw);
  }
  std::string caption(const Batch& batch, std::size_t at) const override {
    return inner_->caption(batch, at);
  }

 private:
  TaskPtr inner_;
};

Trainer stepped(const TaskPtr& task) {
  Trainer trainer(op_table(), detector(),
                  {.input = kInput, .train_batches = {kInput.batch}, .task = task, .l2 = 1e-4});
  trainer.open();
  const StepTensors inputs = trainer.tensors(Purpose::train, kInput.batch);
  const TensorView image = inputs.at("image");
  for (std::int64_t i = 0; i < image.spec.shape.elements(); ++i)
    image.image<float>(0)[i] = static_cast<float>((i * 37) % 101) / 50.0F - 1.0F;
  task->fill_synthetic(inputs, kInput.batch);
  trainer.train_step(kInput.batch, 0.01F, 0, 0);
  return trainer;
}

TEST(RunBySection, GivesTheGradientsOfTheWholeLoss) {
  const Trainer parts = stepped(task());
  const Trainer whole = stepped(std::make_shared<AsOne>(task()));
  const std::vector<NamedTensor> ours = slot_tensors(parts.session(), parts.step_graph());
  const std::vector<NamedTensor> theirs = slot_tensors(whole.session(), whole.step_graph());
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_FALSE(ours.empty());
  for (std::size_t t = 0; t < ours.size(); ++t) {
    double off = 0, norm = 0;
    const auto* a = reinterpret_cast<const float*>(ours[t].view.data);
    const auto* b = reinterpret_cast<const float*>(theirs[t].view.data);
    for (std::int64_t i = 0; i < ours[t].view.spec.stored_elements(); ++i) {
      off += std::pow(static_cast<double>(a[i] - b[i]), 2);
      norm += std::pow(static_cast<double>(b[i]), 2);
    }
    EXPECT_LE(std::sqrt(off), 1e-4 * std::sqrt(norm) + 1e-9) << ours[t].name;
  }
}

// With the body frozen, heads are what takes the most.
std::int64_t arena_of(const TaskPtr& task) {
  const zoo::Network& network = zoo::find_network("retinanet_r50");
  const nn::Input input{.batch = 8, .channels = 3, .image = 256};
  Trainer trainer(op_table(), [&](nn::Builder& net) { return network.build(net, {.classes = 3}); },
                  {.input = input,
                   .train_batches = {input.batch},
                   .task = task,
                   .tuning = {.frozen = network.body}});
  trainer.plan(NamedFates{});
  return trainer.planned().tape(0).arena_bytes - trainer.planned().resident_bytes();
}

TEST(RunBySection, NeedsTheMemoryOfOneHead) {
  EXPECT_LT(arena_of(task()), 0.8 * static_cast<double>(arena_of(std::make_shared<AsOne>(task()))));
}

}  // namespace
}  // namespace plimsoll
