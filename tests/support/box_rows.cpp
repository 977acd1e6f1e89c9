#include "tests/support/box_rows.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace plimsoll::reference {
namespace {

Row centred(const Row& b) {
  return {(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]};
}

// The number that decides a draw: two words of Philox.
struct Lot {
  std::uint64_t number;
  std::size_t index;
  bool operator<(const Lot& other) const {
    return number != other.number ? number < other.number : index < other.index;
  }
};

// Indices of the `most` smallest lots of `candidates`.
std::set<std::size_t> drawn(const std::vector<std::size_t>& candidates, const Attrs& attrs,
                            const Numbers& position, std::size_t n, std::size_t most) {
  std::vector<Lot> lots;
  for (std::size_t index : candidates) {
    const auto key = static_cast<std::uint64_t>(attrs.integer("key")) ^
                     static_cast<std::uint64_t>(position.values[1]);
    const auto words = philox(key, static_cast<std::uint64_t>(position.values[0]) + n, index);
    lots.push_back({words[0] + (std::uint64_t{words[1]} << 32), index});
  }
  std::sort(lots.begin(), lots.end());
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < std::min(most, lots.size()); ++i) taken.insert(lots[i].index);
  return taken;
}

}  // namespace

std::size_t size_at(const Numbers& numbers, int axis) {
  return static_cast<std::size_t>(numbers.shape[axis]);
}

double at(const Numbers& x, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  const std::size_t index[] = {a, b, c, d};
  std::size_t place = 0;
  for (int axis = 0; axis < x.shape.rank(); ++axis) place = place * size_at(x, axis) + index[axis];
  return x.values[place];
}

Row row_of(const Numbers& x, std::size_t n, std::size_t i) {
  Row row;
  for (std::size_t j = 0; j < size_at(x, 2); ++j) row.push_back(at(x, n, i, j));
  return row;
}

Grid grid_of(const Attrs& attrs, std::size_t l, std::size_t levels, std::size_t rows,
             std::size_t columns) {
  const Ints &strides = attrs.ints("strides"), &shapes = attrs.ints("shapes");
  const auto each = static_cast<std::ptrdiff_t>(shapes.size() / levels);
  const auto first = shapes.begin() + static_cast<std::ptrdiff_t>(l) * each;
  return {rows, columns, {strides[2 * l], strides[2 * l + 1]}, Ints(first, first + each)};
}

double area(const Row& box) { return (box[2] - box[0]) * (box[3] - box[1]); }

double iou(const Row& a, const Row& b) {
  const double w = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const double h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (w <= 0 || h <= 0) return 0;
  return w * h / (area(a) + area(b) - w * h);
}

Row decoded(const Row& anchor, const Row& deltas, const Ints& weights) {
  const Row a = centred(anchor);
  const auto part = [&](std::size_t j) { return deltas[j] / static_cast<double>(weights[j]); };
  const double x = a[0] + part(0) * a[2], y = a[1] + part(1) * a[3];
  const double most = std::log(1000.0 / 16);
  const double w = a[2] * std::exp(std::min(part(2), most)),
               h = a[3] * std::exp(std::min(part(3), most));
  return {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
}

Row encoded(const Row& anchor, const Row& box, const Ints& weights) {
  const Row a = centred(anchor), g = centred(box);
  Row deltas{(g[0] - a[0]) / a[2], (g[1] - a[1]) / a[3], std::log(g[2] / a[2]),
             std::log(g[3] / a[3])};
  for (std::size_t j = 0; j < 4; ++j) deltas[j] *= static_cast<double>(weights[j]);
  return deltas;
}

Row clipped(Row box, double height, double width) {
  for (std::size_t j = 0; j < 4; ++j) box[j] = std::clamp(box[j], 0.0, j % 2 == 0 ? width : height);
  return box;
}

double distance(double d, double beta) {
  return std::abs(d) < beta ? d * d / (2 * beta) : std::abs(d) - beta / 2;
}

Row slopes(Row x, const std::function<double(const Row&)>& value) {
  Row slope;
  for (double& element : x) {
    const double here = element, step = 1e-5;
    element = here + step;
    const double more = value(x);
    element = here - step;
    slope.push_back((more - value(x)) / (2 * step));
    element = here;
  }
  return slope;
}

Rows filled(const std::vector<Rows>& images, std::size_t most, std::size_t width) {
  Rows out(2);
  for (const Rows& rows : images) {
    const std::size_t count = std::min(most, rows.size());
    for (std::size_t i = 0; i < count; ++i)
      out[0].insert(out[0].end(), rows[i].begin(), rows[i].end());
    out[0].resize(out[0].size() + (most - count) * width, 0.0);
    out[1].push_back(static_cast<double>(count));
  }
  return out;
}

void sort_by_score(Rows& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a[4] > b[4]; });
}

Rows surviving(Rows rows, double threshold) {
  sort_by_score(rows);
  Rows left;
  while (!rows.empty()) {
    const Row first = rows[0];
    left.push_back(first);
    std::erase_if(rows, [&](const Row& row) {
      return row == first || (row[5] == first[5] && iou(row, first) > threshold);
    });
  }
  return left;
}

std::set<std::size_t> drawn_of(const Row& codes, const Attrs& attrs, const Numbers& position,
                               std::size_t n) {
  std::vector<std::size_t> positive, negative;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] >= 0) positive.push_back(i);
    if (codes[i] == -1) negative.push_back(i);
  }
  const auto number = static_cast<std::size_t>(attrs.integer("number"));
  const auto most = static_cast<std::size_t>(
      std::floor(static_cast<double>(number) * attrs.real("positive_share")));
  std::set<std::size_t> taken = drawn(positive, attrs, position, n, most);
  const auto more = drawn(negative, attrs, position, n, number - taken.size());
  taken.insert(more.begin(), more.end());
  return taken;
}

}  // namespace plimsoll::reference
