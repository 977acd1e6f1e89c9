#include "tests/support/detector_golden.h"

#include <cmath>
#include <functional>
#include <map>

#include "base/random.h"
#include "ops/table.h"
#include "step/trainer.h"
#include "task/detection.h"
#include "task/detection_anchors.h"
#include "tensor/convert.h"
#include "tests/support/golden.h"
#include "tests/support/interpreter.h"
#include "zoo/zoo.h"

namespace plimsoll::tests {
namespace {

using nlohmann::json;
using Row = std::vector<double>;

constexpr std::int64_t kMostBoxes = 32;

// FNV-1a over little-endian int32, as the golden file tells lists of integers.
class Hash {
 public:
  void add(std::int64_t number) {
    const auto bits = static_cast<std::uint32_t>(number);
    for (int byte = 0; byte < 4; ++byte)
      hash_ = (hash_ ^ (bits >> 8 * byte & 0xFFU)) * 1099511628211ULL;
  }
  std::string text() const { return std::to_string(hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

// The value of one weight: rule.py's, and what the file's `more` says.
Row weight_values(const std::string& name, const Shape& shape, const json& golden) {
  const std::string kind = name.substr(name.rfind('/') + 1);
  const std::uint64_t hash = fnv1a64(name);
  Row values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double r = signed_unit(hash, static_cast<std::uint64_t>(i));
    double value = 0;
    if (kind == "moving_mean")
      value = 0.2 * r;
    else if (kind == "moving_variance")
      value = 2 + r;
    else
      value = static_cast<double>(rule_value(name, shape, golden["beta"], r));
    for (const auto& [suffix, change] : golden["changes"].items())
      if (name.ends_with(suffix)) value = value * change[0].get<double>() + change[1].get<double>();
    values.push_back(static_cast<double>(static_cast<float>(value)));
  }
  return values;
}

Row image_values(std::int64_t count) {
  Row values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(signed_unit(fnv1a64("image"), static_cast<std::uint64_t>(i)));
  return values;
}

// What a detection step is fed beside its image, by name.
std::map<std::string, Row> truth(const json& golden) {
  Row boxes, labels, counts, extent;
  for (std::size_t n = 0; n < golden["boxes"].size(); ++n) {
    for (const json& box : golden["boxes"][n])
      for (const double side : box) boxes.push_back(side);
    for (const double label : golden["labels"][n]) labels.push_back(label);
    boxes.resize((n + 1) * kMostBoxes * 4, 0.0);
    labels.resize((n + 1) * kMostBoxes, 0.0);
    counts.push_back(static_cast<double>(golden["boxes"][n].size()));
    for (const double side : golden["extents"][n]) extent.push_back(side);
  }
  const Row position{0, golden.value("seed", 0.0)};
  return {{"boxes", boxes},   {"box_labels", labels}, {"box_count", counts},
          {"extent", extent}, {"sample", position},   {"lots", {0, 0}}};
}

// Names of the parts of a loss, as torchvision tells them.
std::vector<std::string> parts_of(const json& golden) {
  if (!golden.contains("keys")) return {"cls_loss", "box_loss"};
  return {"rpn_cls_loss", "rpn_box_loss", "roi_cls_loss", "roi_box_loss"};
}

// What results.csv tells as `name`: a part, or the sum over both stages.
double told_loss(const json& golden, const json& expected, const std::string& name) {
  if (!golden.contains("keys")) return expected[name];
  return expected["rpn_" + name].get<double>() + expected["roi_" + name].get<double>();
}

TaskPtr task_of(const json& golden) {
  return make_detection({.classes = golden["classes"],
                         .anchor_base = golden["base"],
                         .most_boxes = kMostBoxes,
                         .most_truths = kMostBoxes});
}

nn::Input input_of(const json& golden, DType dtype, std::int64_t lanes = kNarrowLanes) {
  const std::vector<std::int64_t> image = golden["image"];
  return {.batch = golden["batch"],
          .channels = image[0],
          .image = {image[1], image[2]},
          .dtype = dtype,
          .lanes = lanes};
}

NetworkFactory factory_of(const json& golden) {
  const zoo::Network& network = zoo::find_network(golden["network"].get<std::string>());
  EXPECT_EQ(network.anchor_base, golden["base"]);
  const std::int64_t classes = golden["classes"];
  return [&network, classes](nn::Builder& net) { return network.build(net, {.classes = classes}); };
}

// With "frozen", BatchNorms are constants and all else is trained.
Tuning tuning_of(const std::string& variant) {
  if (variant != "frozen") return {};
  return {.frozen = {"*.bn?", "*downsample.1", "*_bn"}};
}

const OptimizerOptions kSgd{.name = "sgd", .momentum = 0.9};

// A graph with the golden inputs and weights in it.
void fill(Interpreter& run, const Graph& graph, const json& golden) {
  const std::map<std::string, Row> inputs = truth(golden);
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const Value& value = graph.values()[v];
    const ValueId id = graph.find(value.name);
    const bool is_weight = value.role == Role::parameter || value.role == Role::frozen ||
                           value.role == Role::statistics;
    if (value.name == "image")
      run.put(id, image_values(value.spec.shape.elements()));
    else if (const auto input = inputs.find(value.name); input != inputs.end())
      run.put(id, input->second);
    else if (is_weight)
      run.put(id, weight_values(value.name, value.spec.shape, golden));
  }
}

void expect_gradient(const std::string& name, const Row& gradient, const json& expected,
                     double allowed) {
  double squares = 0;
  for (const double g : gradient) squares += g * g;
  EXPECT_NEAR(std::sqrt(squares), expected["norm"].get<double>(), allowed) << name;
  for (const json& sample : expected["samples"])
    EXPECT_NEAR(gradient.at(sample[0].get<std::size_t>()), sample[1].get<double>(), allowed)
        << name << " at " << sample[0];
}

// Compares every gradient. One that is zero but for rounding, such as of a beta whose shift a later
// BatchNorm takes away, has no digits: it must be as small beside the whole.
void expect_gradients(const json& expected, double tolerance, std::size_t count,
                      const std::function<Row(const std::string&)>& find) {
  double total = 0;
  for (const auto& [name, of] : expected.items()) total += std::pow(of["norm"].get<double>(), 2);
  const double whole = std::sqrt(total);
  for (const auto& [name, of] : expected.items()) {
    const double norm = of["norm"];
    expect_gradient(name, find(name), of,
                    tolerance * (norm < 1e-9 * whole ? whole : std::max(norm, 1e-6 * whole)));
  }
  EXPECT_EQ(count, expected.size());
}

void expect_anchors(const json& golden, const Graph& graph, const nn::Heads& heads) {
  std::vector<Cells> cells;
  for (const nn::Level& level : heads.levels) cells.push_back(cells_of(graph.spec(level.deltas)));
  Hash hash;
  std::int64_t count = 0;
  const std::vector<std::int64_t> image = golden["image"];
  for (const boxes::AnchorLevel& level :
       detection_anchors(image[1], image[2], cells, golden["base"])) {
    for (std::int64_t row = 0; row < level.rows; ++row)
      for (std::int64_t column = 0; column < level.columns; ++column)
        for (std::int64_t shape = 0; shape < std::ssize(level.shapes); ++shape) {
          const auto box = level.box<double>(row, column, shape);
          for (const double side : {box.x0, box.y0, box.x1, box.y1})
            hash.add(static_cast<std::int64_t>(side));
        }
    count += level.count();
  }
  EXPECT_EQ(count, golden["anchors"]["count"]);
  EXPECT_EQ(hash.text(), golden["anchors"]["hash"]);
}

const Node* find_node(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes())
    if (node.op->name == op) return &node;
  return nullptr;
}

// Boxes of picture `n`, a row each from `first` on.
void expect_boxes(const Row& found, std::size_t first, const json& expected, std::size_t n) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t side = 0; side < 4; ++side)
      EXPECT_NEAR(found[(first + i) * 4 + side], expected[i][side].get<double>(), 1e-6)
          << n << ": " << i;
}

void expect_drawn_regions(const json& expected, const Graph& graph, const Interpreter& run) {
  const Node* drawn = find_node(graph, "sample_rois");
  const Node* proposed = find_node(graph, "proposals");
  ASSERT_TRUE(drawn != nullptr && proposed != nullptr);
  const Row boxes = run.elements(drawn->out[0]), labels = run.elements(drawn->out[1]);
  const Row weights = run.elements(drawn->out[3]), counts = run.elements(proposed->out[1]);
  const std::size_t slots = labels.size() / counts.size();
  for (std::size_t n = 0; n < counts.size(); ++n) {
    EXPECT_EQ(counts[n], expected["proposals"][n].get<double>()) << n;
    const json& rois = expected["rois"][n];
    expect_boxes(boxes, n * slots, rois, n);
    for (std::size_t i = 0; i < slots; ++i) {
      EXPECT_EQ(weights[n * slots + i] > 0, i < rois.size()) << n << ": " << i;
      if (i < rois.size()) {
        EXPECT_EQ(labels[n * slots + i], expected["roi_labels"][n][i].get<double>()) << n;
      }
    }
  }
}

void expect_proposals(const json& expected, const Graph& graph, const Interpreter& run) {
  const Node* node = find_node(graph, "proposals");
  ASSERT_NE(node, nullptr);
  const Row boxes = run.elements(node->out[0]), counts = run.elements(node->out[1]);
  for (std::size_t n = 0; n < counts.size(); ++n) {
    ASSERT_EQ(static_cast<std::size_t>(counts[n]), expected[n].size()) << "picture " << n;
    expect_boxes(boxes, n * boxes.size() / 4 / counts.size(), expected[n], n);
  }
}

// The codes of all levels' anchors, picture by picture: ours lie as [N, A, H, W], the file tells
// those of a cell one behind the other.
void expect_matches(const json& golden, const Graph& graph, const Interpreter& run) {
  const Node* match = find_node(graph, "match_anchors");
  ASSERT_NE(match, nullptr);
  for (std::size_t n = 0; n < golden["matches"].size(); ++n) {
    Hash hash;
    for (std::size_t l = 0; l + 1 < match->out.size(); ++l) {
      const Row codes = run.elements(match->out[l]);
      const Shape& shape = graph.spec(match->out[l]).shape;
      const auto anchors = static_cast<std::size_t>(shape[1]);
      const auto cells = static_cast<std::size_t>(shape[2] * shape[3]);
      for (std::size_t cell = 0; cell < cells; ++cell)
        for (std::size_t a = 0; a < anchors; ++a)
          hash.add(static_cast<std::int64_t>(codes[(n * anchors + a) * cells + cell]));
    }
    EXPECT_EQ(hash.text(), golden["matches"][n]) << "picture " << n;
  }
}

}  // namespace

const json& retinanet_golden(const std::string& network) {
  static const json all = load_golden("retinanet");
  return all["networks"].at(network);
}

const json& fasterrcnn_golden(const std::string& network) {
  static const json all = load_golden("fasterrcnn");
  return all["networks"].at(network);
}

void expect_double_step(const json& golden, const std::string& variant) {
  const json& expected = golden[variant];
  const NetworkFactory network = factory_of(golden);
  const StepGraph step =
      training_graph(op_table(), input_of(golden, DType::f64), network, *task_of(golden), 0, kSgd,
                     tuning_of(variant), Fusion::plain);
  const Graph& graph = step.tape.graph;
  Interpreter run(graph);
  fill(run, graph, golden);
  run.run(0, graph.begin_of(Phase::update));

  nn::Builder builder(op_table(), input_of(golden, DType::f64), nn::Mode::inference);
  const nn::Heads heads = network(builder);
  expect_anchors(golden, builder.graph(), heads);
  expect_matches(golden, graph, run);
  if (heads.second.scores) expect_drawn_regions(expected, graph, run);
  for (const std::string& part : parts_of(golden)) {
    const double loss = expected[part];
    EXPECT_NEAR(run.elements(graph.find(part))[0], loss, 1e-9 * loss) << part;
  }
  // An update reads the weight and its gradient.
  std::map<std::string, ValueId> gradients;
  for (const Node& node : graph.nodes())
    if (node.op->name == "sgd") gradients[graph.value(node.in[0]).name] = node.in[1];
  expect_gradients(expected["gradients"], 1e-8, gradients.size(),
                   [&](const std::string& name) { return run.elements(gradients.at(name)); });
}

void expect_detections(const json& golden) {
  const StepGraph step = evaluation_graph(op_table(), input_of(golden, DType::f64),
                                          factory_of(golden), *task_of(golden), {}, Fusion::plain);
  const Graph& graph = step.tape.graph;
  Interpreter run(graph);
  fill(run, graph, golden);
  run.run();
  if (golden.contains("proposals")) expect_proposals(golden["proposals"], graph, run);
  const Row counts = run.elements(graph.find("detections/counts"));
  const Row found = run.elements(graph.find("detections"));
  const std::size_t rows = found.size() / 6 / counts.size();
  for (std::size_t n = 0; n < counts.size(); ++n) {
    const json& expected = golden["detections"][n];
    ASSERT_EQ(static_cast<std::size_t>(counts[n]), expected.size()) << "picture " << n;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double* row = found.data() + (n * rows + i) * 6;
      for (std::size_t side = 0; side < 4; ++side)
        EXPECT_NEAR(row[side], expected[i][side].get<double>(), 1e-6) << n << ": " << i;
      EXPECT_NEAR(row[4], expected[i][4].get<double>(), 1e-8) << n << ": " << i;
      EXPECT_EQ(row[5], expected[i][5].get<double>()) << n << ": " << i;
    }
  }
}

void expect_float_steps(const json& golden, const std::string& variant, std::int64_t lanes) {
  const json& expected = golden[variant];
  const std::int64_t batch = golden["batch"];
  Trainer trainer(op_table(), factory_of(golden),
                  {.input = input_of(golden, DType::f32, lanes),
                   .train_batches = {batch},
                   .evaluate_batches = {},
                   .task = task_of(golden),
                   .optimizer = kSgd,
                   .tuning = tuning_of(variant),
                   .seed = golden.value("seed", TrainerOptions().seed)});
  trainer.open();
  const auto put = [](const TensorView& view, const Row& values) {
    const std::vector<float> floats(values.begin(), values.end());
    write_elements(view, 0, floats);
  };
  const auto fill_weights = [&] {
    for (const NamedTensor& tensor : weight_tensors(trainer.session(), trainer.step_graph()))
      put(tensor.view, weight_values(tensor.name, tensor.view.spec.shape, golden));
    for (const NamedTensor& slot : slot_tensors(trainer.session(), trainer.step_graph()))
      put(slot.view, Row(static_cast<std::size_t>(slot.view.spec.shape.elements()), 0.0));
  };
  const std::map<std::string, Row> inputs = truth(golden);
  const auto fill_batch = [&] {
    const StepTensors tensors = trainer.tensors(Purpose::train, batch);
    const TensorView image = trainer.image(Purpose::train, batch);
    const Row pixels = image_values(image.spec.shape.elements());
    std::copy(pixels.begin(), pixels.end(), image.as<float>());
    for (const char* name : {"boxes", "extent"})
      if (const auto view = tensors.find(name)) {
        const Row& values = inputs.at(name);
        std::copy(values.begin(), values.end(), view->as<float>());
      }
    for (const char* name : {"box_labels", "box_count"}) {
      const Row& values = inputs.at(name);
      std::copy(values.begin(), values.end(), tensors.at(name).as<std::int32_t>());
    }
  };

  fill_weights();
  fill_batch();
  // With momentum and a rate of 1, the first step leaves -gradient in the slot, exactly.
  trainer.train_step(batch, 1.0F, 0, 0);
  const StepTensors results = trainer.tensors(Purpose::train, batch);
  for (const char* part : {"cls_loss", "box_loss"}) {
    const double loss = told_loss(golden, expected, part);
    EXPECT_NEAR(static_cast<double>(results.at(part).at<float>(0)), loss, 1e-5 * loss) << part;
  }
  std::map<std::string, TensorView> slots;
  for (const NamedTensor& slot : slot_tensors(trainer.session(), trainer.step_graph()))
    slots.emplace(slot.name, slot.view);
  expect_gradients(
      expected["gradients"], std::max(1e-3, 2 * expected["f32_gap"]["gradients"].get<double>()),
      slots.size(), [&](const std::string& name) {
        const TensorView& view = slots.at(slot_name(name, "momentum"));
        std::vector<float> values(static_cast<std::size_t>(view.spec.shape.elements()));
        read_elements(view, 0, values);
        Row gradient(values.begin(), values.end());
        for (double& g : gradient) g = -g;
        return gradient;
      });

  fill_weights();
  const Row losses = expected["losses"];
  // A box loss has corners: where a delta is near its target, rounding turns the sign of its
  // gradient, and that much is multiplied from step to step.
  constexpr std::size_t kCloseSteps = 6;
  const double close = std::max(1e-4, 10 * expected["f32_gap"]["steps"].get<double>());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double tolerance = i < kCloseSteps ? close : 10 * close;
    fill_batch();
    const auto step = static_cast<std::int64_t>(i);
    const StepResult result =
        trainer.train_step(batch, expected["lr"].get<float>(), step, step * batch);
    EXPECT_NEAR(result.loss, losses[i], tolerance * losses[i]) << "step " << i;
  }
  EXPECT_LT(losses.back(), 0.95 * losses.front()) << "the golden run moves the loss";
}

}  // namespace plimsoll::tests
