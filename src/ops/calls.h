// Ops that the stages behind the network call, by functions instead of names. Each appends one node
// to the graph, under `name`, and returns what it makes.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "ops/most_reduced.h"  // IWYU pragma: export

namespace plimsoll::ops {

// One number.
inline ValueId fill(Graph& graph, double value, std::string_view name) {
  return graph.call1("fill", {}, {{"value", value}, {"shape", Ints{1}}}, name);
}

// The last term counts `last_factor` times.
inline ValueId add(Graph& graph, const Values& terms, std::string_view name,
                   double last_factor = 1) {
  return graph.call1("add", terms, {{"last_factor", last_factor}}, name);
}

inline Values split(Graph& graph, ValueId whole, const Ints& channels, std::string_view name) {
  return graph.call("split", {whole}, {{"sizes", channels}}, name);
}

// `x` times a number that is known when the step runs.
inline ValueId scale(Graph& graph, ValueId x, ValueId by, std::string_view name) {
  return graph.call1("scale", {x, by}, {}, name);
}

// `in`: logits, label and, where samples have them, weight, second label and its share.
inline ValueId softmax_cross_entropy(Graph& graph, const Values& in, double smoothing,
                                     std::string_view name) {
  return graph.call("softmax_cross_entropy", in, {{"smoothing", smoothing}}, name)[0];
}
inline ValueId sigmoid_cross_entropy(Graph& graph, ValueId logits, ValueId target,
                                     std::string_view name) {
  return graph.call("sigmoid_cross_entropy", {logits, target}, {}, name)[0];
}
inline ValueId mean_squared_error(Graph& graph, ValueId output, ValueId target,
                                  std::string_view name) {
  return graph.call("mean_squared_error", {output, target}, {}, name)[0];
}

// How many labels are told right, and how many samples have all of them.
inline ValueId binary_accuracy(Graph& graph, ValueId logits, ValueId target,
                               std::string_view name) {
  return graph.call1("binary_accuracy", {logits, target}, {}, name);
}
inline ValueId absolute_error(Graph& graph, ValueId output, ValueId target, std::string_view name) {
  return graph.call1("absolute_error", {output, target}, {}, name);
}

inline ValueId one_hot(Graph& graph, ValueId label, std::int64_t classes, std::string_view name) {
  return graph.call1("one_hot", {label}, {{"classes", classes}}, name);
}

// How many labels scored highest, and how many among the five highest.
inline ValueId accuracy(Graph& graph, ValueId logits, ValueId label, std::string_view name) {
  return graph.call1("accuracy", {logits, label}, {}, name);
}

inline ValueId l2(Graph& graph, const Values& weights, double factor, std::string_view name) {
  return graph.call1("l2", weights, {{"factor", factor}}, name);
}

// Not finite if any of the loss and the gradients is.
inline ValueId global_norm(Graph& graph, ValueId loss, const Values& gradients,
                           std::string_view name) {
  Values in{loss};
  in.insert(in.end(), gradients.begin(), gradients.end());
  return graph.call1("global_norm", in, {}, name);
}

// Of detectors. Anchors of one or several levels, as attributes.
struct AnchorAttrs {
  Ints cells;    // rows and columns of each level
  Ints strides;  // pixels from cell to cell, likewise
  Ints shapes;   // half the sides of each anchor of a cell, level after level
};
// IoU from which an anchor finds a box, and below which it finds nothing.
struct MatchThresholds {
  double positive = 0.5, negative = 0.4;
};
// What each anchor of each level is to find, and last the weight of each image.
inline Values match_anchors(Graph& graph, ValueId boxes, ValueId counts, const AnchorAttrs& anchors,
                            std::string_view name, const MatchThresholds& of = {}) {
  return graph.call("match_anchors", {boxes, counts},
                    {{"cells", anchors.cells},
                     {"strides", anchors.strides},
                     {"shapes", anchors.shapes},
                     {"positive", of.positive},
                     {"negative", of.negative}},
                    name);
}
inline ValueId focal_loss(Graph& graph, const Values& in, std::int64_t classes,
                          std::string_view name) {
  return graph.call("focal_loss", in, {{"classes", classes}}, name)[0];
}
// `anchors` of one level, as below; `kind`: l1, smooth_l1 or giou.
inline ValueId box_loss(Graph& graph, const Values& in, const AnchorAttrs& anchors,
                        std::string_view name, std::string_view kind = "l1") {
  return graph.call(
      "box_loss", in,
      {{"strides", anchors.strides}, {"shapes", anchors.shapes}, {"kind", std::string(kind)}},
      name)[0];
}
// Rows of a box, score and class, and how many there are.
struct Candidates {
  ValueId rows, counts;
};
inline Candidates top_detections(Graph& graph, const Values& in, const AnchorAttrs& anchors,
                                 double threshold, std::int64_t most, std::string_view name) {
  const Values out = graph.call("top_detections", in,
                                {{"strides", anchors.strides},
                                 {"shapes", anchors.shapes},
                                 {"threshold", threshold},
                                 {"most", most}},
                                name);
  return {out[0], out[1]};
}
inline Candidates nms(Graph& graph, const Values& candidates, double threshold, std::int64_t keep,
                      std::string_view name) {
  const Values out =
      graph.call("nms", candidates, {{"threshold", threshold}, {"keep", keep}}, name);
  return {out[0], out[1]};
}

// Of detectors with two stages. What is drawn at random: how many of an image, how many of those
// positive at most, and the key of the lots.
struct DrawAttrs {
  std::int64_t number;
  double positive_share;
  std::int64_t key;
};
inline Attrs attrs_of(const DrawAttrs& draw) {
  return {{"number", draw.number}, {"positive_share", draw.positive_share}, {"key", draw.key}};
}
// `matches` without those not drawn, and last the weight of each image.
inline Values sample_matches(Graph& graph, ValueId weight, ValueId position, const Values& matches,
                             const DrawAttrs& draw, std::string_view name) {
  Values in{weight, position};
  in.insert(in.end(), matches.begin(), matches.end());
  return graph.call("sample_matches", in, attrs_of(draw), name);
}
// The cross-entropy of one score an anchor: `in` are scores, matches and weights.
inline ValueId objectness_loss(Graph& graph, const Values& in, std::string_view name) {
  return graph.call("focal_loss", in,
                    {{"classes", std::int64_t{1}}, {"alpha", -1.0}, {"gamma", 0.0}}, name)[0];
}
// Rows are boxes alone; `in`: the extent, then scores and deltas of each level.
inline Candidates proposals(Graph& graph, const Values& in, const AnchorAttrs& anchors,
                            std::int64_t of_a_level, std::int64_t keep, std::string_view name) {
  const Values out = graph.call("proposals", in,
                                {{"strides", anchors.strides},
                                 {"shapes", anchors.shapes},
                                 {"of_a_level", of_a_level},
                                 {"keep", keep}},
                                name);
  return {out[0], out[1]};
}
// Boxes, what each is, what is to be said of it, and what that weighs.
struct LabelledRois {
  ValueId boxes, labels, targets, weights;
};
// `in`: proposals, their numbers, boxes, labels, their numbers, the position. Those that are drawn
// of the proposals and the boxes themselves.
inline LabelledRois sample_rois(Graph& graph, const Values& in, const DrawAttrs& draw,
                                std::string_view name) {
  const Values out = graph.call("sample_rois", in, attrs_of(draw), name);
  return {out[0], out[1], out[2], out[3]};
}
// All proposals in their places; those not drawn weigh nothing.
inline LabelledRois label_rois(Graph& graph, const Values& in, const DrawAttrs& draw,
                               std::string_view name) {
  const Values out = graph.call("label_rois", in, attrs_of(draw), name);
  return {out[0], out[1], out[2], out[3]};
}
inline ValueId roi_box_loss(Graph& graph, const Values& in, std::string_view name) {
  return graph.call("roi_box_loss", in, {}, name)[0];
}
inline ValueId softmax(Graph& graph, ValueId scores, std::string_view name) {
  return graph.call1("softmax", {scores}, {}, name);
}
// `in`: scores that sum to 1, deltas, boxes, their numbers, the extent.
inline Candidates class_detections(Graph& graph, const Values& in, double threshold,
                                   std::string_view name) {
  const Values out = graph.call("class_detections", in, {{"threshold", threshold}}, name);
  return {out[0], out[1]};
}

// Updates of residents. Those that take the norm change nothing where it is not finite.
// `elements` are the attributes `first` and `count`, where it is about a shard of the weight.
inline void moving_average(Graph& graph, ValueId average, ValueId weight, ValueId norm,
                           double decay, const Attrs& elements, std::string_view name) {
  Attrs attrs = elements;
  attrs.set("decay", decay);
  graph.call("moving_average", {average, weight, norm}, attrs, name);
}
struct Moments {
  ValueId mean, variance;
};
inline Moments bn_update(Graph& graph, const Moments& moving, const Moments& batch, ValueId norm,
                         double momentum, std::string_view name) {
  const Values moved =
      graph.call("bn_update", {moving.mean, moving.variance, batch.mean, batch.variance, norm},
                 {{"momentum", momentum}}, name);
  return {moved[0], moved[1]};
}
// Mean and variance of all parts of a batch, from those of each.
inline Moments bn_meet(Graph& graph, const Moments& own, std::string_view name) {
  const Values met = graph.call("bn_meet", {own.mean, own.variance}, {}, name);
  return {met[0], met[1]};
}
// Sums over the parts of a batch. `code` tells which of the slots a part is added to.
inline ValueId carry(Graph& graph, ValueId part, ValueId code, const Values& slots,
                     std::string_view name) {
  Values in{part, code};
  in.insert(in.end(), slots.begin(), slots.end());
  return graph.call1("carry", in, {}, name);
}
// Leaves the sum in a slot.
inline void stow(Graph& graph, ValueId part, ValueId code, const Values& slots,
                 std::string_view name) {
  Values in{part, code};
  in.insert(in.end(), slots.begin(), slots.end());
  graph.call("stow", in, {}, name);
}
// Sums over ranks of what each has summed; `slots` are those of all sums, one after the other.
inline Values reduce(Graph& graph, const Values& sums, const Values& slots, std::string_view name) {
  Values in = sums;
  in.insert(in.end(), slots.begin(), slots.end());
  return graph.call("reduce", in, {{"sums", static_cast<std::int64_t>(sums.size())}}, name);
}
// Weights of which every rank has updated its shard.
inline Values gather(Graph& graph, const Values& weights, std::string_view name) {
  return graph.call("gather", weights, {}, name);
}

// Ops of optimizers: in are the parameter, its gradient, slots, rate, perhaps the step, the norm.
inline constexpr std::string_view kSgd = "sgd";
inline constexpr std::string_view kRmsprop = "rmsprop";
inline constexpr std::string_view kAdam = "adam";

}  // namespace plimsoll::ops
