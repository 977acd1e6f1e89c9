#include "task/detection_stages.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kCandidatesOfALevel = 1000;

}  // namespace

TaskValues append_one_stage(Graph& graph, const nn::Heads& heads, const DetectionOptions& options,
                            bool training) {
  const TruthInputs truth = add_truth(graph, options, !training);
  const std::vector<boxes::AnchorLevel> anchors = anchors_over(graph, heads.levels, options);
  Values match;
  {
    const LayerScope layer(graph, "match");
    match = ops::match_anchors(graph, truth.boxes, truth.counts, attrs_of(anchors), "match");
  }
  const ValueId weight = match.back();

  TaskValues values;
  Values class_losses, box_losses, candidates;
  for (std::size_t l = 0; l < heads.levels.size(); ++l) {
    const nn::Level& level = heads.levels[l];
    const ops::AnchorAttrs own = attrs_of(std::span(anchors).subspan(l, 1));
    const std::string number = std::to_string(l);
    // Before the losses, which write their gradients over what they read.
    if (!training) {
      const LayerScope layer(graph, "detections");
      const ops::Candidates top = ops::top_detections(
          graph, {level.scores, level.deltas, truth.extent}, own, options.score_threshold,
          kCandidatesOfALevel, "top_detections/" + number);
      candidates.insert(candidates.end(), {top.rows, top.counts});
    }
    {
      const LayerScope layer(graph, "cls_loss");
      class_losses.push_back(ops::focal_loss(graph, {level.scores, match[l], weight, truth.labels},
                                             options.classes, "cls_loss/" + number));
    }
    {
      const LayerScope layer(graph, "box_loss");
      box_losses.push_back(ops::box_loss(graph, {level.deltas, match[l], truth.boxes, weight}, own,
                                         "box_loss/" + number));
    }
    values.parts.push_back({{level.features}, class_losses.back()});
    values.parts.push_back({{level.features}, box_losses.back()});
  }
  {
    const LayerScope layer(graph, "loss");
    const ValueId of_classes = named_sum(graph, class_losses, "cls_loss");
    const ValueId of_boxes = named_sum(graph, box_losses, "box_loss");
    values.loss = named_sum(graph, {of_classes, of_boxes}, "loss");
    values.results = {values.loss, of_classes, of_boxes};
  }
  if (!training)
    for (const ValueId found : append_detections(graph, candidates, kMostDetections))
      values.results.push_back(found);
  return values;
}

}  // namespace plimsoll
