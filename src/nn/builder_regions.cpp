// Layers of networks that look twice: which boxes, and what lies under them.
#include "nn/nn.h"

namespace plimsoll::nn {

Regions Builder::regions(const std::vector<Level>& levels, const RegionOptions& options,
                         std::string_view name) {
  Values inputs;
  for (const Level& level : levels) inputs.insert(inputs.end(), {level.scores, level.deltas});
  begin_layer("Regions", "regions", name, inputs, {});
  Regions made;
  if (make_regions_) {
    made = make_regions_(graph_, levels, options);
  } else {
    const std::int64_t rows = mode_ == Mode::training ? options.drawn : options.inference.kept;
    const Spec& image = spec(image_);
    made.boxes = graph_.add_value("rois", plain({image.shape[0] * rows, 4}, widened(image.dtype)),
                                  Role::input);
  }
  end_layer(made.boxes);
  return made;
}

ValueId Builder::roi_align(ValueId boxes, const Values& levels, std::int64_t size,
                           std::int64_t first_level, std::string_view name) {
  Values operands{boxes};
  operands.insert(operands.end(), levels.begin(), levels.end());
  const std::string node = begin_layer("RoIAlign", "roi_align", name, operands,
                                       {{"size", size}, {"first_level", first_level}});
  return end_layer(
      graph_.call1("roi_align", operands, {{"size", size}, {"first_level", first_level}}, node));
}

}  // namespace plimsoll::nn
