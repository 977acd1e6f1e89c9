// What the references of detectors' ops are written with: a box is a row x1, y1, x2, y2, after
// which may come its score and its class.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "tests/support/op_references.h"

namespace plimsoll::reference {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using In = std::vector<Numbers>;

std::size_t size_at(const Numbers& numbers, int axis);

// Element [a][b][c][d]; axes that are not there are 0.
double at(const Numbers& x, std::size_t a, std::size_t b = 0, std::size_t c = 0, std::size_t d = 0);

// [n][i] of three axes.
Row row_of(const Numbers& x, std::size_t n, std::size_t i);

// The anchors of a level.
struct Grid {
  std::size_t rows, columns;
  Ints strides, shapes;  // down, across; half sides across, down of each anchor of a cell

  std::size_t anchors() const { return shapes.size() / 2; }
  Row box(std::size_t i, std::size_t j, std::size_t a) const {
    const auto x = static_cast<double>(static_cast<std::int64_t>(j) * strides[1]);
    const auto y = static_cast<double>(static_cast<std::int64_t>(i) * strides[0]);
    const auto w = static_cast<double>(shapes[2 * a]), h = static_cast<double>(shapes[2 * a + 1]);
    return {x - w, y - h, x + w, y + h};
  }
};

Grid grid_of(const Attrs& attrs, std::size_t l, std::size_t levels, std::size_t rows,
             std::size_t columns);

double area(const Row& box);
double iou(const Row& a, const Row& b);

Row decoded(const Row& anchor, const Row& deltas, const Ints& weights);
Row encoded(const Row& anchor, const Row& box, const Ints& weights);
Row clipped(Row box, double height, double width);

// Smooth L1.
double distance(double d, double beta);

// The slope of `value` at each element of `x`, by differences.
Row slopes(Row x, const std::function<double(const Row&)>& value);

// Rows of all images, each filled up to `most`, and their numbers.
Rows filled(const std::vector<Rows>& images, std::size_t most, std::size_t width);

// Best first; equals keep their order.
void sort_by_score(Rows& rows);

// NMS within a class, best first: crosses out instead of asking who stays.
Rows surviving(Rows rows, double threshold);

// Which candidates are drawn; codes: >= 0 positive, -1 negative, else none of both.
std::set<std::size_t> drawn_of(const Row& codes, const Attrs& attrs, const Numbers& position,
                               std::size_t n);

}  // namespace plimsoll::reference
