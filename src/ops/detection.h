// What ops of detectors share: anchors as attributes, boxes and counts as operands.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "boxes/anchors.h"
#include "boxes/box.h"
#include "boxes/coder.h"
#include "boxes/nms.h"
#include "ops/window.h"

namespace plimsoll::ops {

// Anchors of one or several levels: integers throughout.
inline std::vector<AttrSchema> anchor_schema() {
  return {{"strides", Ints{8, 8}, "pixels from cell to cell, rows and columns, of each level"},
          {"shapes", Ints{16, 16},
           "half the width and height of each anchor of a cell, for one level after the other"}};
}

inline std::vector<AttrSchema> with_anchors(std::vector<AttrSchema> attrs) {
  for (AttrSchema& one : anchor_schema()) attrs.push_back(std::move(one));
  return attrs;
}

// Refuses unless the attributes are anchors of `levels` levels; returns how many a cell has.
inline std::int64_t check_anchors(const Attrs& attrs, std::int64_t levels) {
  check_list(attrs, "strides", static_cast<std::size_t>(2 * levels), 1);
  const auto count = std::ssize(attrs.ints("shapes"));
  check_list(attrs, "shapes", static_cast<std::size_t>(count), 1);
  if (count == 0 || count % (2 * levels) != 0)
    refuse("shapes are " + std::to_string(count) + " integers",
           "the same number of pairs for each of " + std::to_string(levels) + " levels is needed");
  return count / (2 * levels);
}

// Level `l` of `levels`, of rows x columns cells; attributes that were checked.
inline boxes::AnchorLevel anchor_level(const Attrs& attrs, std::int64_t l, std::int64_t levels,
                                       std::int64_t rows, std::int64_t columns) {
  const Ints &strides = attrs.ints("strides"), &sides = attrs.ints("shapes");
  const std::int64_t numbers = std::ssize(sides) / levels;
  const auto at = [](const Ints& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  };
  boxes::AnchorLevel level{.rows = rows,
                           .columns = columns,
                           .stride_y = at(strides, 2 * l),
                           .stride_x = at(strides, 2 * l + 1)};
  for (std::int64_t i = l * numbers; i < (l + 1) * numbers; i += 2)
    level.shapes.push_back({.width = at(sides, i), .height = at(sides, i + 1)});
  return level;
}

// Refuses unless `spec` is plain, of real numbers, [N, rows, width].
inline void check_rows(const Spec& spec, std::int64_t width, std::string_view what) {
  check_real(spec, what);
  if (spec.layout != Layout::plain || spec.shape.rank() != 3 || spec.shape[2] != width)
    refuse(std::string(what) + " are " + to_string(spec),
           "rows of " + std::to_string(width) + " for each image are needed");
}

// Refuses unless `spec` is a vector of i32, one for each image.
inline void check_counts(const Spec& spec, std::int64_t images, std::string_view what) {
  check_vector(spec, images, what);
  if (spec.dtype != DType::i32)
    refuse(std::string(what) + " are " + to_string(spec), "i32 is needed");
}

// Refuses unless `spec` is plain [images, 2] of the type beside that of `like`.
inline void check_extent(const Spec& spec, const Spec& like) {
  check_same(spec, {.dtype = widened(like.dtype), .shape = {like.shape[0], 2}}, "the extent");
}

inline void check_same_type(const Spec& spec, const Spec& like, std::string_view what) {
  if (spec.dtype != widened(like.dtype))
    refuse(std::string(what) + " are " + to_string(spec),
           std::string(name_of(widened(like.dtype))) + " is needed beside " + to_string(like));
}

// Refuses unless `match` says of each of `anchors` anchors at every cell of `image` what it is to
// find.
inline void check_match(const Spec& match, const Spec& image, std::int64_t anchors) {
  const Shape& of = image.shape;
  check_same(match, {.dtype = DType::i32, .shape = {of[0], anchors, of[2], of[3]}}, "the matches");
}

// How many of `most` there are by a count that came from outside.
inline std::int64_t count_at(const TensorView& counts, std::int64_t n, std::int64_t most) {
  return std::clamp<std::int64_t>(counts.at<std::int32_t>(n), 0, most);
}

// Rows of image `n` as what they are.
template <class Row, class T>
std::span<Row> rows_of(const TensorView& view, std::int64_t n) {
  return {reinterpret_cast<Row*>(view.image<T>(n)), static_cast<std::size_t>(view.spec.shape[1])};
}
template <class T>
std::span<const boxes::Box<T>> boxes_of(const TensorView& view, const TensorView& counts,
                                        std::int64_t n) {
  return rows_of<const boxes::Box<T>, T>(view, n).first(
      static_cast<std::size_t>(count_at(counts, n, view.spec.shape[1])));
}

// Element (channel, cell) of an image of a blocked tensor.
inline std::int64_t blocked_at(const Spec& spec, std::int64_t channel, std::int64_t cell) {
  const std::int64_t cells = spec.shape[2] * spec.shape[3], lanes = spec.lanes;
  return (channel / lanes * cells + cell) * lanes + channel % lanes;
}

// The weights of a coder, as an attribute.
inline AttrSchema coder_schema() {
  return {"weights", Ints{1, 1, 1, 1}, "what dx, dy, dw and dh are multiplied by"};
}
inline void check_coder(const Attrs& attrs) { check_list(attrs, "weights", 4, 1); }
template <class T>
boxes::Coder<T> coder_of(const Attrs& attrs) {
  boxes::Coder<T> coder;
  for (std::size_t i = 0; i < 4; ++i) coder.weights[i] = static_cast<T>(attrs.ints("weights")[i]);
  return coder;
}

// The four deltas of an anchor of a blocked image.
template <class T>
boxes::Deltas<Wide<T>> deltas_at(const TensorView& images, std::int64_t n, std::int64_t anchor,
                                 std::int64_t cell) {
  boxes::Deltas<Wide<T>> deltas;
  for (std::int64_t j = 0; j < 4; ++j)
    deltas[static_cast<std::size_t>(j)] =
        images.image<T>(n)[blocked_at(images.spec, 4 * anchor + j, cell)];
  return deltas;
}

// Losses hand out their gradient as the second output, which the seed scales.
inline Values scaled_gradient(const Backward& b) {
  Values dx = b.none();
  if (b.dy[0]) dx[0] = b.call1("scale", {b.out(1), b.dy[0]});
  return dx;
}

// A score and where it stood, for the best of many.
template <class T>
struct Ranked {
  T score;
  std::int32_t index;
  // The better one is the smaller: heaps then have the worst on top, and sorting puts the best
  // first.
  bool operator<(const Ranked& other) const {
    return boxes::ranks_before(score, index, other.score, other.index);
  }
};

// Keeps the best of what is offered in `room`; count() of them, unordered until sort().
template <class T>
class BestRanked {
 public:
  explicit BestRanked(std::span<Ranked<T>> room) : room_(room) {}
  void offer(Ranked<T> one) {
    if (count_ == room_.size()) {
      if (count_ == 0 || !(one < room_[0])) return;
      std::pop_heap(room_.begin(), end());
      --count_;
    }
    room_[count_++] = one;
    std::push_heap(room_.begin(), end());
  }
  std::span<Ranked<T>> sort() {
    std::sort_heap(room_.begin(), end());
    return room_.first(count_);
  }

 private:
  auto end() { return room_.begin() + static_cast<std::ptrdiff_t>(count_); }
  std::span<Ranked<T>> room_;
  std::size_t count_ = 0;
};

}  // namespace plimsoll::ops
