// The ops of detectors, in double, against torchvision's own code (tools/golden/make_detection.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/random.h"
#include "boxes/anchors.h"
#include "ops/table.h"
#include "tests/support/interpreter.h"

namespace plimsoll {
namespace {

using nlohmann::json;
using Row = std::vector<double>;

const json& golden() {
  static const json file = [] {
    std::ifstream stream(std::string(PLIMSOLL_TESTS_DIR) + "/golden/detection.json");
    return json::parse(stream);
  }();
  return file;
}

// As rule.uniform of the scripts.
Row uniform(const std::string& name, std::int64_t count, double factor, double shift) {
  Row values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(signed_unit(fnv1a64(name), static_cast<std::uint64_t>(i)) * factor + shift);
  return values;
}

// A graph that is filled while it is made.
class DetectionCase {
 public:
  Graph graph{op_table()};

  ValueId input(const std::string& name, const Spec& spec, Row values) {
    const ValueId id = graph.add_value(name, spec, Role::input);
    fills_.emplace_back(id, std::move(values));
    return id;
  }
  // By the rule, in f64.
  ValueId tensor(const std::string& name, const Spec& spec, double factor = 1, double shift = 0) {
    return input(name, spec, uniform(name, spec.shape.elements(), factor, shift));
  }
  Values call(const char* op, const Values& in, const Attrs& attrs) {
    return graph.call(op, in, attrs, std::string(op) + std::to_string(++calls_));
  }
  void run() {
    run_.emplace(graph);
    for (const auto& [id, values] : fills_) run_->put(id, values);
    run_->run();
  }
  Row elements(ValueId id) const { return run_->elements(id); }
  double sum(const Values& numbers) const {
    double total = 0;
    for (ValueId id : numbers) total += elements(id)[0];
    return total;
  }

 private:
  std::vector<std::pair<ValueId, Row>> fills_;
  std::optional<Interpreter> run_;
  int calls_ = 0;
};

constexpr std::int64_t kImages = 3;
constexpr std::int64_t kMostBoxes = 30;

struct Truth {
  ValueId boxes, labels, counts, extent;
};

Truth add_truth(DetectionCase& c) {
  Row boxes, labels, counts, extent;
  for (std::size_t n = 0; n < kImages; ++n) {
    for (const auto& box : golden()["boxes"][n])
      for (double side : box) boxes.push_back(side);
    boxes.resize((n + 1) * kMostBoxes * 4, 0.0);
    for (double label : golden()["labels"][n]) labels.push_back(label);
    labels.resize((n + 1) * kMostBoxes, 0.0);
    counts.push_back(static_cast<double>(golden()["boxes"][n].size()));
    for (double side : golden()["extents"][n]) extent.push_back(side);
  }
  return {c.input("boxes", plain({kImages, kMostBoxes, 4}, DType::f64), boxes),
          c.input("labels", plain({kImages, kMostBoxes}, DType::i32), labels),
          c.input("counts", plain({kImages}, DType::i32), counts),
          c.input("extent", plain({kImages, 2}, DType::f64), extent)};
}

struct Levels {
  explicit Levels(const json& part) {
    const std::int64_t canvas = golden()["canvas"];
    constexpr double kRatios[] = {0.5, 1, 2};
    for (std::size_t l = 0; l < part["levels"].size(); ++l) {
      rows.push_back(part["levels"][l][0]);
      columns.push_back(part["levels"][l][1]);
      cells.insert(cells.end(), {rows[l], columns[l]});
      strides.insert(strides.end(), {canvas / rows[l], canvas / columns[l]});
      const std::vector<std::int64_t> sizes = part["sizes"][l];
      shapes.emplace_back();
      for (const boxes::HalfSides& half : boxes::anchor_shapes(sizes, kRatios))
        shapes.back().insert(shapes.back().end(), {half.width, half.height});
    }
  }
  std::size_t count() const { return rows.size(); }
  Attrs all() const {
    Ints joined;
    for (const Ints& one : shapes) joined.insert(joined.end(), one.begin(), one.end());
    return {{"strides", strides}, {"shapes", joined}};
  }
  Attrs level(std::size_t l) const {
    return {{"strides", Ints{strides[2 * l], strides[2 * l + 1]}}, {"shapes", shapes[l]}};
  }
  Spec spec(std::size_t l, std::int64_t channels) const {
    return blocked(kImages, channels, rows[l], columns[l], DType::f64);
  }
  Ints rows, columns, cells, strides;
  std::vector<Ints> shapes;
};

Attrs with(Attrs attrs, const Attrs& more) {
  for (const auto& [name, value] : more.entries()) attrs.set(name, value);
  return attrs;
}

double norm_of(const Row& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares);
}

void expect_tensor(const Row& got, const json& wanted, double tolerance) {
  const double norm = wanted["norm"];
  EXPECT_NEAR(norm_of(got), norm, tolerance * norm);
  for (const auto& sample : wanted["samples"])
    EXPECT_NEAR(got.at(sample[0]), sample[1].get<double>(), tolerance * norm)
        << "element " << sample[0];
}

void expect_loss(const DetectionCase& c, const std::vector<Values>& parts, const json& wanted) {
  double loss = 0;
  for (std::size_t l = 0; l < parts.size(); ++l) {
    SCOPED_TRACE("level " + std::to_string(l));
    loss += c.sum({parts[l][0]});
    expect_tensor(c.elements(parts[l][1]), wanted["gradients"][l], 1e-8);
  }
  EXPECT_NEAR(loss, wanted["loss"].get<double>(), 1e-9);
}

// Rows [N, most, width] and their numbers, against the lists of every image.
void expect_lists(const Row& rows, const Row& counts, std::size_t width, const json& wanted) {
  const std::size_t most = rows.size() / width / wanted.size();
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    SCOPED_TRACE("image " + std::to_string(n));
    ASSERT_EQ(counts[n], static_cast<double>(wanted[n].size()));
    for (std::size_t i = 0; i < wanted[n].size(); ++i)
      for (std::size_t j = 0; j < width; ++j)
        ASSERT_NEAR(rows[(n * most + i) * width + j], wanted[n][i][j].get<double>(), 1e-9)
            << "row " << i << " column " << j;
  }
}

TEST(DetectionGolden, RetinaNetsLossesAreTorchvisions) {
  const json& part = golden()["retinanet"];
  const Levels levels(part);
  const std::int64_t classes = golden()["classes"];
  DetectionCase c;
  const Truth truth = add_truth(c);
  const Values matches = c.call("match_anchors", {truth.boxes, truth.counts},
                                with(levels.all(), {{"cells", levels.cells}}));
  const ValueId weights = matches.back();
  std::vector<Values> focal, l1, giou;
  for (std::size_t l = 0; l < levels.count(); ++l) {
    const std::string number = std::to_string(l);
    const ValueId logits =
        c.tensor("retinanet/logits/" + number, levels.spec(l, 9 * classes), 3, -2.5);
    focal.push_back(
        c.call("focal_loss", {logits, matches[l], weights, truth.labels}, {{"classes", classes}}));
    const ValueId deltas = c.tensor("retinanet/deltas/" + number, levels.spec(l, 36));
    const Values in{deltas, matches[l], truth.boxes, weights};
    l1.push_back(c.call("box_loss", in, levels.level(l)));
    giou.push_back(c.call("box_loss", in, with(levels.level(l), {{"kind", std::string("giou")}})));
  }
  c.run();
  const Row each = c.elements(weights);
  for (std::size_t n = 0; n < kImages; ++n)
    EXPECT_NEAR(each[n], 1 / (3.0 * std::max(1.0, part["positives"][n].get<double>())), 1e-15);
  {
    SCOPED_TRACE("classes");
    expect_loss(c, focal, part["focal"]);
  }
  {
    SCOPED_TRACE("l1");
    expect_loss(c, l1, part["l1"]);
  }
  SCOPED_TRACE("giou");
  expect_loss(c, giou, part["giou"]);
}

TEST(DetectionGolden, RetinaNetsDetectionsAreTorchvisions) {
  const json& part = golden()["retinanet"];
  const Levels levels(part);
  const std::int64_t classes = golden()["classes"];
  DetectionCase c;
  const Truth truth = add_truth(c);
  Values candidates;
  for (std::size_t l = 0; l < levels.count(); ++l) {
    const std::string number = std::to_string(l);
    const ValueId logits =
        c.tensor("retinanet/logits/" + number, levels.spec(l, 9 * classes), 3, -2.5);
    const ValueId deltas = c.tensor("retinanet/deltas/" + number, levels.spec(l, 36));
    for (ValueId id : c.call("top_detections", {logits, deltas, truth.extent},
                             with(levels.level(l), {{"most", std::int64_t{100}}})))
      candidates.push_back(id);
  }
  const Values found = c.call("nms", candidates, {{"keep", std::int64_t{60}}});
  c.run();
  expect_lists(c.elements(found[0]), c.elements(found[1]), 6, part["detections"]);
}

ValueId add_position(DetectionCase& c) {
  return c.input("position", plain({2}, DType::i64),
                 {golden()["first_sample"].get<double>(), golden()["seed"].get<double>()});
}

TEST(DetectionGolden, TheFirstStageIsTorchvisions) {
  const json& part = golden()["rpn"];
  const Levels levels(part);
  DetectionCase c;
  const Truth truth = add_truth(c);
  const Values matches =
      c.call("match_anchors", {truth.boxes, truth.counts},
             with(levels.all(), {{"cells", levels.cells}, {"positive", 0.7}, {"negative", 0.3}}));
  Values in{matches.back(), add_position(c)};
  in.insert(in.end(), matches.begin(), matches.end() - 1);
  const Values drawn =
      c.call("sample_matches", in,
             {{"number", std::int64_t{64}}, {"key", golden()["key"].get<std::int64_t>()}});
  std::vector<Values> objectness, box;
  Values heads{truth.extent};
  for (std::size_t l = 0; l < levels.count(); ++l) {
    const std::string number = std::to_string(l);
    const ValueId scores = c.tensor("rpn/scores/" + number, levels.spec(l, 3), 2);
    const ValueId deltas = c.tensor("rpn/deltas/" + number, levels.spec(l, 12), 0.5);
    heads.insert(heads.end(), {scores, deltas});
    objectness.push_back(
        c.call("focal_loss", {scores, drawn[l], drawn.back()}, {{"alpha", -1.0}, {"gamma", 0.0}}));
    box.push_back(c.call("box_loss", {deltas, drawn[l], truth.boxes, drawn.back()},
                         with(levels.level(l), {{"kind", std::string("smooth_l1")}})));
  }
  const Values proposals =
      c.call("proposals", heads,
             with(levels.all(), {{"of_a_level", std::int64_t{200}}, {"keep", std::int64_t{100}}}));
  c.run();
  expect_lists(c.elements(proposals[0]), c.elements(proposals[1]), 4, part["proposals"]);
  {
    SCOPED_TRACE("objectness");
    expect_loss(c, objectness, part["objectness"]);
  }
  SCOPED_TRACE("box");
  expect_loss(c, box, part["box"]);
}

// The first `most` proposals of every image.
ValueId add_proposals(DetectionCase& c, std::int64_t most) {
  Row rows;
  for (const auto& image : golden()["rpn"]["proposals"])
    for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i)
      for (double side : image[i]) rows.push_back(side);
  return c.input("proposals", plain({kImages, most, 4}, DType::f64), rows);
}

TEST(DetectionGolden, WhatTheSecondStageLearnsFromIsTorchvisions) {
  const json& part = golden()["heads"];
  const std::int64_t number = part["number"], columns = golden()["classes"].get<int>() + 1;
  DetectionCase c;
  const Truth truth = add_truth(c);
  const ValueId counts = c.input("roi counts", plain({kImages}, DType::i32), Row(3, 100.0));
  const Values drawn = c.call(
      "sample_rois",
      {add_proposals(c, 100), counts, truth.boxes, truth.labels, truth.counts, add_position(c)},
      {{"number", number}, {"key", golden()["key"].get<std::int64_t>()}});
  const ValueId logits =
      c.tensor("heads/logits", plain({kImages * number, columns}, DType::f64), 2);
  const ValueId deltas =
      c.tensor("heads/deltas", plain({kImages * number, 4 * columns}, DType::f64));
  const Values scores = c.call("softmax_cross_entropy", {logits, drawn[1], drawn[3]}, {});
  const Values box = c.call("roi_box_loss", {deltas, drawn[1], drawn[2], drawn[3]}, {});
  c.run();
  const Row full(3, static_cast<double>(number));
  expect_lists(c.elements(drawn[0]), full, 4, part["rois"]);
  expect_lists(c.elements(drawn[2]), full, 4, part["targets"]);
  const Row labels = c.elements(drawn[1]);
  std::size_t next = 0;
  for (const auto& image : part["labels"])
    for (double label : image) EXPECT_EQ(labels[next++], label);
  expect_loss(c, {scores}, part["scores"]);
  expect_loss(c, {box}, part["box"]);
}

TEST(DetectionGolden, TheSecondStagesDetectionsAreTorchvisions) {
  const std::int64_t columns = golden()["classes"].get<int>() + 1;
  DetectionCase c;
  const Truth truth = add_truth(c);
  const ValueId logits = c.tensor("heads/test/logits", plain({90, columns}, DType::f64), 2);
  const ValueId deltas = c.tensor("heads/test/deltas", plain({90, 4 * columns}, DType::f64));
  const ValueId counts = c.input("roi counts", plain({kImages}, DType::i32), Row(3, 30.0));
  const Values scores = c.call("softmax", {logits}, {});
  const Values candidates = c.call(
      "class_detections", {scores[0], deltas, add_proposals(c, 30), counts, truth.extent}, {});
  const Values found = c.call("nms", candidates, {{"keep", std::int64_t{40}}});
  c.run();
  expect_lists(c.elements(found[0]), c.elements(found[1]), 6, golden()["heads"]["detections"]);
}

TEST(DetectionGolden, RoiAlignAndItsGradientAreTorchvisions) {
  const json& part = golden()["roi_align"];
  Row rois;
  for (const auto& image : part["rois"])
    for (const auto& roi : image)
      for (double side : roi) rois.push_back(side);
  const auto count = static_cast<std::int64_t>(rois.size() / 4);
  DetectionCase c;
  Values in{c.input("rois", plain({count, 4}, DType::f64), rois)};
  Ints cells;
  for (int l = 2; l < 6; ++l) {
    const std::int64_t side = 512 >> l;
    cells.insert(cells.end(), {side, side});
    in.push_back(
        c.tensor("roi_align/level/" + std::to_string(l), blocked(2, 5, side, side, DType::f64)));
  }
  const Values out = c.call("roi_align", in, {});
  const ValueId dy = c.tensor("roi_align/dy", blocked(count, 5, 7, 7, DType::f64));
  const Values gradients =
      c.call("roi_align_grad", {dy, in[0]}, {{"cells", cells}, {"images", std::int64_t{2}}});
  c.run();
  expect_tensor(c.elements(out[0]), part, 1e-12);
  for (std::size_t l = 0; l < gradients.size(); ++l)
    expect_tensor(c.elements(gradients[l]), part["gradients"][l], 1e-12);
}

}  // namespace
}  // namespace plimsoll
