#include "base/random.h"
#include "task/detection_stages.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostFound = 100;  // of a picture
constexpr ops::MatchThresholds kAnchorThresholds{.positive = 0.7, .negative = 0.3};
constexpr std::int64_t kAnchorsDrawn = 256;  // of a picture
constexpr double kPositiveAnchors = 0.5;     // of them, at most
constexpr double kPositiveRegions = 0.25;

std::int64_t key_of(std::string_view name) { return static_cast<std::int64_t>(fnv1a64(name) >> 1); }

TruthInputs find_truth(const Graph& graph) {
  return {.boxes = graph.find("boxes"),
          .labels = graph.find("box_labels"),
          .counts = graph.find("box_count"),
          .extent = graph.find("extent")};
}

// Of the first sample in the run, or in evaluation in its set, and a seed.
ValueId find_position(const Graph& graph, bool training) {
  return graph.find(training ? "sample" : kLots);
}

struct Losses {
  Values of_classes, of_boxes;
};

// One part for each level: score and deltas come from one convolution.
Losses append_first_stage(Graph& graph, const std::vector<nn::Level>& levels,
                          const DetectionOptions& options, bool training, TaskValues& values) {
  const TruthInputs truth = find_truth(graph);
  const std::vector<boxes::AnchorLevel> anchors = anchors_over(graph, levels, options);
  Values match;
  {
    const LayerScope layer(graph, "match");
    match = ops::match_anchors(graph, truth.boxes, truth.counts, attrs_of(anchors), "match",
                               kAnchorThresholds);
    const ValueId weight = match.back();
    match.pop_back();
    match = ops::sample_matches(
        graph, weight, find_position(graph, training), match,
        {.number = kAnchorsDrawn, .positive_share = kPositiveAnchors, .key = key_of("rpn")},
        "match/drawn");
  }
  const ValueId weight = match.back();
  Losses losses;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const std::string number = std::to_string(l);
    {
      const LayerScope layer(graph, "cls_loss");
      losses.of_classes.push_back(ops::objectness_loss(graph, {levels[l].scores, match[l], weight},
                                                       "rpn_cls_loss/" + number));
    }
    {
      const LayerScope layer(graph, "box_loss");
      losses.of_boxes.push_back(ops::box_loss(
          graph, {levels[l].deltas, match[l], truth.boxes, weight},
          attrs_of(std::span(anchors).subspan(l, 1)), "rpn_box_loss/" + number, "smooth_l1"));
    }
    const LayerScope layer(graph, "loss");
    values.parts.push_back({{levels[l].features},
                            ops::add(graph, {losses.of_classes.back(), losses.of_boxes.back()},
                                     "rpn_loss/" + number)});
  }
  return losses;
}

// The four parts, as torchvision tells them, and their sums.
void append_sums(Graph& graph, const Losses& first, const Losses& second, TaskValues& values) {
  const LayerScope layer(graph, "loss");
  const ValueId of_classes =
      named_sum(graph, {named_sum(graph, first.of_classes, "rpn_cls_loss"), second.of_classes[0]},
                "cls_loss");
  const ValueId of_boxes = named_sum(
      graph, {named_sum(graph, first.of_boxes, "rpn_box_loss"), second.of_boxes[0]}, "box_loss");
  values.loss = named_sum(graph, {of_classes, of_boxes}, "loss");
  values.results = {values.loss, of_classes, of_boxes};
}

}  // namespace

nn::Regions make_regions(Graph& graph, const std::vector<nn::Level>& levels,
                         const nn::RegionOptions& regions, const DetectionOptions& options,
                         bool training) {
  const TruthInputs truth = add_truth(graph, options, true);
  if (!training) graph.add_value(kLots, plain({2}, DType::i64), Role::input);
  const nn::RegionOptions::Proposals& most = training ? regions.training : regions.inference;
  Values in{truth.extent};
  for (const nn::Level& level : levels) in.insert(in.end(), {level.scores, level.deltas});
  const ops::Candidates found =
      ops::proposals(graph, in, attrs_of(anchors_over(graph, levels, options)), most.of_a_level,
                     most.kept, "proposals");
  const Values among{found.rows,   found.counts, truth.boxes,
                     truth.labels, truth.counts, find_position(graph, training)};
  const ops::DrawAttrs draw{
      .number = regions.drawn, .positive_share = kPositiveRegions, .key = key_of("roi_heads")};
  const ops::LabelledRois rois = training ? ops::sample_rois(graph, among, draw, "rois")
                                          : ops::label_rois(graph, among, draw, "rois");
  return {.boxes = rois.boxes,
          .labels = rois.labels,
          .targets = rois.targets,
          .weights = rois.weights,
          .proposals = training ? kNoValue : found.rows,
          .counts = training ? kNoValue : found.counts};
}

TaskValues append_two_stages(Graph& graph, const nn::Heads& heads, const DetectionOptions& options,
                             bool training) {
  TaskValues values;
  const Losses first = append_first_stage(graph, heads.levels, options, training, values);
  const nn::SecondStage& second = heads.second;
  const nn::Regions& regions = second.regions;
  Values candidates;
  // Before the losses, which write their gradients over what they read.
  if (!training) {
    const LayerScope layer(graph, "detections");
    const ValueId shares = ops::softmax(graph, second.scores, "shares");
    const ops::Candidates found = ops::class_detections(
        graph, {shares, second.deltas, regions.proposals, regions.counts, find_truth(graph).extent},
        options.score_threshold, "class_detections");
    candidates = {found.rows, found.counts};
  }
  Losses losses;
  {
    const LayerScope layer(graph, "cls_loss");
    losses.of_classes = {ops::softmax_cross_entropy(
        graph, {second.scores, regions.labels, regions.weights}, 0, "roi_cls_loss")};
  }
  {
    const LayerScope layer(graph, "box_loss");
    losses.of_boxes = {ops::roi_box_loss(
        graph, {second.deltas, regions.labels, regions.targets, regions.weights}, "roi_box_loss")};
  }
  {
    const LayerScope layer(graph, "loss");
    values.parts.push_back(
        {second.features, ops::add(graph, {losses.of_classes[0], losses.of_boxes[0]}, "roi_loss")});
  }
  append_sums(graph, first, losses, values);
  if (!training)
    for (const ValueId one : append_detections(graph, candidates, kMostFound))
      values.results.push_back(one);
  return values;
}

}  // namespace plimsoll
