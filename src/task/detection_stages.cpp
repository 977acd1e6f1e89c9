#include "task/detection_stages.h"

namespace plimsoll {

TruthInputs add_truth(Graph& graph, const DetectionOptions& options, bool with_extent) {
  const Spec& image = graph.spec(graph.find("image"));
  const std::int64_t batch = image.shape[0];
  const DType real = widened(image.dtype);
  const std::int64_t most = options.most_boxes;
  TruthInputs truth;
  truth.boxes = graph.add_value("boxes", plain({batch, most, 4}, real), Role::input);
  truth.labels = graph.add_value("box_labels", plain({batch, most}, DType::i32), Role::input);
  truth.counts = graph.add_value("box_count", plain({batch}, DType::i32), Role::input);
  truth.extent =
      with_extent ? graph.add_value("extent", plain({batch, 2}, real), Role::input) : kNoValue;
  return truth;
}

std::vector<boxes::AnchorLevel> anchors_over(const Graph& graph,
                                             const std::vector<nn::Level>& levels,
                                             const DetectionOptions& options) {
  const Shape& image = graph.spec(graph.find("image")).shape;
  std::vector<Cells> cells;
  for (const nn::Level& level : levels) cells.push_back(cells_of(graph.spec(level.deltas)));
  return detection_anchors(image[2], image[3], cells, options.anchor_base);
}

ValueId named_sum(Graph& graph, const Values& terms, const std::string& name) {
  const ValueId sum = ops::add(graph, terms, name);
  graph.rename(sum, name);
  return sum;
}

Values append_detections(Graph& graph, const Values& candidates, std::int64_t keep) {
  const LayerScope layer(graph, "detections");
  const ops::Candidates kept = ops::nms(graph, candidates, kSuppression, keep, "detections");
  graph.rename(kept.rows, "detections");
  graph.rename(kept.counts, "detections/counts");
  return {kept.rows, kept.counts};
}

}  // namespace plimsoll
