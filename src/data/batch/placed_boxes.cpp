#include "data/batch/placed_boxes.h"

#include <algorithm>

#include "base/error.h"
#include "data/source/upright_box.h"

namespace plimsoll {
namespace {

// One axis of a box on its way to the canvas.
struct Stretched {
  float from = 0, to = 0;
  bool is_kept = false;
};

// `begin` and `length`: what was cut out; `extent`: pixels of the canvas that it became.
Stretched place(float from, float to, std::int64_t begin, std::int64_t length, bool is_cut,
                std::int64_t extent, bool mirrors) {
  const auto first = static_cast<float>(begin);
  const auto last = static_cast<float>(begin + length);
  const float centre = from + (to - from) / 2;
  const bool is_inside = !is_cut || (centre >= first && centre < last);
  const float ratio = static_cast<float>(extent) / static_cast<float>(length);
  const auto end = static_cast<float>(extent);
  // Rounding may take the last pixel's end a little further than the extent's.
  from = std::min((std::clamp(from, first, last) - first) * ratio, end);
  to = std::min((std::clamp(to, first, last) - first) * ratio, end);
  if (mirrors) {
    const float mirrored = end - from;
    from = end - to;
    to = mirrored;
  }
  const bool is_large = is_cut ? to - from >= 1 : to > from;
  return {.from = from, .to = to, .is_kept = is_inside && is_large};
}

}  // namespace

std::int64_t place_boxes(const Source& source, std::int64_t sample,
                         const CanvasPlacement& placement, const Rect& crop, const Draw& draw,
                         std::span<PlacedBox> to) {
  const std::span<const Box> boxes = source.boxes(sample);
  if (boxes.empty()) return 0;
  const Size frame = source.annotated_size(sample);
  const bool is_cut = crop != Rect{0, 0, placement.image.width, placement.image.height};
  std::size_t count = 0;
  for (const Box& given : boxes) {
    if (!is_trained_on(given, frame)) continue;
    const Box box = upright_box(given, frame, placement.image, placement.orientation);
    const Stretched x = place(box.x0, box.x1, crop.x, crop.width, is_cut, placement.extent.width,
                              draw.horizontal_flip);
    const Stretched y = place(box.y0, box.y1, crop.y, crop.height, is_cut, placement.extent.height,
                              draw.vertical_flip);
    if (!x.is_kept || !y.is_kept) continue;
    expect(count < to.size(), "room for the boxes of a sample");
    to[count++] = {.x0 = x.from, .y0 = y.from, .x1 = x.to, .y1 = y.to, .label = box.label};
  }
  return static_cast<std::int64_t>(count);
}

std::int64_t upright_truth(const Source& source, std::int64_t sample,
                           const CanvasPlacement& placement, std::span<Box> to) {
  const std::span<const Box> boxes = source.boxes(sample);
  if (boxes.empty()) return 0;
  expect(boxes.size() <= to.size(), "room for the boxes of a sample");
  const Size frame = source.annotated_size(sample);
  std::ranges::transform(boxes, to.begin(), [&](const Box& box) {
    return upright_box(box, frame, placement.image, placement.orientation);
  });
  return std::ssize(boxes);
}

std::vector<Box> upright_truth(const Source& source, std::int64_t sample,
                               const CanvasPlacement& placement) {
  std::vector<Box> truth(source.boxes(sample).size());
  upright_truth(source, sample, placement, truth);
  return truth;
}

}  // namespace plimsoll
