#include "boxes/matching.h"

#include <algorithm>

#include "boxes/overlap.h"

namespace plimsoll::boxes {
namespace {

// Columns [first, last) that may touch a box: a cell more on either side than the quotient says, so
// that its rounding does not matter. Boxes may lie anywhere, also far outside.
struct Columns {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// A place that is no number is 0.
std::int64_t column_at(double place, std::int64_t columns) {
  if (!(place > 0)) return 0;
  return place < static_cast<double>(columns) ? static_cast<std::int64_t>(place) : columns;
}

template <class T>
Columns columns_near(const AnchorLevel& level, const HalfSides& half, const Box<T>& box) {
  const auto stride = static_cast<double>(level.stride_x);
  const auto reach = static_cast<double>(half.width);
  const double first = (static_cast<double>(box.x0) - reach) / stride;
  const double last = (static_cast<double>(box.x1) + reach) / stride;
  return {column_at(first, level.columns), column_at(last + 2, level.columns)};
}

// body(g, columns) for all boxes that may touch anchors of one row and shape.
template <class T, class Body>
void over_neighbours(const AnchorLevel& level, std::int64_t row, std::int64_t shape,
                     std::span<const Box<T>> boxes, Body body) {
  const HalfSides& half = level.shapes[static_cast<std::size_t>(shape)];
  const auto top = static_cast<T>(row * level.stride_y - half.height);
  const auto bottom = static_cast<T>(row * level.stride_y + half.height);
  for (std::size_t g = 0; g < boxes.size(); ++g)
    if (boxes[g].y1 > top && boxes[g].y0 < bottom) body(g, columns_near(level, half, boxes[g]));
}

std::int64_t shapes_of(const AnchorLevel& level) {
  return static_cast<std::int64_t>(level.shapes.size());
}

}  // namespace

template <class T>
void raise_best(const AnchorLevel& level, std::int64_t first_row, std::int64_t last_row,
                std::span<const Box<T>> boxes, std::span<T> best) {
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (std::int64_t a = 0; a < shapes_of(level); ++a)
      over_neighbours(level, row, a, boxes, [&](std::size_t g, const Columns& near) {
        const Box<T> box = boxes[g];
        const T area = area_of(box);
        T most = best[g];
        for (std::int64_t column = near.first; column < near.last; ++column) {
          const Box<T> anchor = level.box<T>(row, column, a);
          most = larger(most, overlap(box, area, anchor, area_of(anchor)));
        }
        best[g] = most;
      });
}

template <class T>
std::int64_t match_rows(const AnchorLevel& level, std::int64_t first_row, std::int64_t last_row,
                        std::span<const Box<T>> boxes, std::span<const T> best,
                        const MatchRule& rule, std::span<std::int32_t> codes, std::byte* scratch) {
  const std::int64_t width = level.columns;
  T* nearness = reinterpret_cast<T*>(scratch);
  auto* forced = reinterpret_cast<std::uint8_t*>(nearness + width);
  std::int64_t positives = 0;
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (std::int64_t a = 0; a < shapes_of(level); ++a) {
      std::int32_t* found = codes.data() + (a * level.rows + row) * width;
      std::fill_n(nearness, width, T(0));
      std::fill_n(forced, width, std::uint8_t{0});
      std::fill_n(found, width, std::int32_t{0});
      over_neighbours(level, row, a, boxes, [&](std::size_t g, const Columns& near) {
        const Box<T> box = boxes[g];
        const T area = area_of(box);
        for (std::int64_t column = near.first; column < near.last; ++column) {
          const Box<T> anchor = level.box<T>(row, column, a);
          const T share = overlap(box, area, anchor, area_of(anchor));
          forced[column] |= share > 0 && share == best[g] ? 1 : 0;
          if (!(share > nearness[column])) continue;
          nearness[column] = share;
          found[column] = static_cast<std::int32_t>(g);
        }
      });
      for (std::int64_t column = 0; column < width; ++column) {
        const T share = nearness[column];
        const bool is_positive = !boxes.empty() && (share >= static_cast<T>(rule.positive) ||
                                                    (rule.low_quality && forced[column] != 0));
        if (is_positive)
          ++positives;
        else
          found[column] =
              share < static_cast<T>(rule.negative) || boxes.empty() ? kNegative : kIgnored;
      }
    }
  return positives;
}

template <class T>
std::int32_t match_one(const Box<T>& candidate, std::span<const Box<T>> boxes,
                       const MatchRule& rule) {
  if (boxes.empty()) return kNegative;
  const T area = area_of(candidate);
  T most = 0;
  std::int32_t found = 0;
  for (std::size_t g = 0; g < boxes.size(); ++g) {
    const T share = overlap(boxes[g], area_of(boxes[g]), candidate, area);
    if (!(share > most)) continue;
    most = share;
    found = static_cast<std::int32_t>(g);
  }
  if (most >= static_cast<T>(rule.positive)) return found;
  return most < static_cast<T>(rule.negative) ? kNegative : kIgnored;
}

template void raise_best(const AnchorLevel&, std::int64_t, std::int64_t,
                         std::span<const Box<float>>, std::span<float>);
template void raise_best(const AnchorLevel&, std::int64_t, std::int64_t,
                         std::span<const Box<double>>, std::span<double>);
template std::int64_t match_rows(const AnchorLevel&, std::int64_t, std::int64_t,
                                 std::span<const Box<float>>, std::span<const float>,
                                 const MatchRule&, std::span<std::int32_t>, std::byte*);
template std::int64_t match_rows(const AnchorLevel&, std::int64_t, std::int64_t,
                                 std::span<const Box<double>>, std::span<const double>,
                                 const MatchRule&, std::span<std::int32_t>, std::byte*);
template std::int32_t match_one(const Box<float>&, std::span<const Box<float>>, const MatchRule&);
template std::int32_t match_one(const Box<double>&, std::span<const Box<double>>, const MatchRule&);

}  // namespace plimsoll::boxes
