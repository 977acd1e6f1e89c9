#include "tests/support/detection_references.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "base/random.h"

namespace plimsoll {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using In = std::vector<Numbers>;

std::size_t size_at(const Numbers& numbers, int axis) {
  return static_cast<std::size_t>(numbers.shape[axis]);
}

// Element [a][b][c][d]; axes that are not there are 0.
double at(const Numbers& x, std::size_t a, std::size_t b = 0, std::size_t c = 0,
          std::size_t d = 0) {
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

// Centre and half sides of every anchor of a level, by [row][column][shape].
struct Grid {
  std::size_t rows, columns;
  Ints strides, shapes;  // of this level

  std::size_t anchors() const { return shapes.size() / 2; }
  Row box(std::size_t i, std::size_t j, std::size_t a) const {
    const auto x = static_cast<double>(static_cast<std::int64_t>(j) * strides[1]);
    const auto y = static_cast<double>(static_cast<std::int64_t>(i) * strides[0]);
    const auto w = static_cast<double>(shapes[2 * a]), h = static_cast<double>(shapes[2 * a + 1]);
    return {x - w, y - h, x + w, y + h};
  }
};

Grid grid_of(const Attrs& attrs, std::size_t l, std::size_t levels, std::size_t rows,
             std::size_t columns) {
  const Ints &strides = attrs.ints("strides"), &shapes = attrs.ints("shapes");
  const auto each = static_cast<std::ptrdiff_t>(shapes.size() / levels);
  const auto first = shapes.begin() + static_cast<std::ptrdiff_t>(l) * each;
  return {rows, columns, {strides[2 * l], strides[2 * l + 1]}, Ints(first, first + each)};
}

double area(const Row& b) { return (b[2] - b[0]) * (b[3] - b[1]); }

double iou(const Row& a, const Row& b) {
  const double w = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const double h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (w <= 0 || h <= 0) return 0;
  return w * h / (area(a) + area(b) - w * h);
}

// With the whole table of anchors x boxes.
Rows match_anchors(const Attrs& attrs, const In& in) {
  const Ints& cells = attrs.ints("cells");
  const std::size_t levels = cells.size() / 2, images = size_at(in[0], 0);
  Rows out(levels);
  Row weights;
  for (std::size_t n = 0; n < images; ++n) {
    Rows boxes;
    for (std::size_t g = 0; g < static_cast<std::size_t>(in[1].values[n]); ++g)
      boxes.push_back(row_of(in[0], n, g));
    Rows table;  // [box][anchor of all levels]
    std::vector<std::size_t> level_of;
    for (const Row& box : boxes) {
      table.emplace_back();
      for (std::size_t l = 0; l < levels; ++l) {
        const Grid grid = grid_of(attrs, l, levels, static_cast<std::size_t>(cells[2 * l]),
                                  static_cast<std::size_t>(cells[2 * l + 1]));
        for (std::size_t a = 0; a < grid.anchors(); ++a)
          for (std::size_t i = 0; i < grid.rows; ++i)
            for (std::size_t j = 0; j < grid.columns; ++j)
              table.back().push_back(iou(box, grid.box(i, j, a)));
      }
    }
    double positives = 0;
    std::size_t next = 0;
    for (std::size_t l = 0; l < levels; ++l) {
      const auto anchors = attrs.ints("shapes").size() / 2 / levels;
      const auto count = anchors * static_cast<std::size_t>(cells[2 * l] * cells[2 * l + 1]);
      for (std::size_t k = next; k < next + count; ++k) {
        double best = 0, code = -1;
        bool forced = false;
        for (std::size_t g = 0; g < boxes.size(); ++g) {
          if (table[g][k] > best) {
            best = table[g][k];
            code = static_cast<double>(g);
          }
          const double most = *std::max_element(table[g].begin(), table[g].end());
          forced = forced || (most > 0 && table[g][k] == most);
        }
        const bool is_positive =
            best >= attrs.real("positive") || (attrs.flag("low_quality") && forced);
        if (!is_positive) code = best < attrs.real("negative") ? -1 : -2;
        positives += is_positive ? 1 : 0;
        out[l].push_back(code);
      }
      next += count;
    }
    weights.push_back(1 / (static_cast<double>(images) * std::max(1.0, positives)));
  }
  out.push_back(weights);
  return out;
}

// The slope of `value` at each element of `x`, by differences.
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

Row centred(const Row& b) {
  return {(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1]};
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

double giou(const Row& a, const Row& b) {
  const double w = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double h = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double cover = area(a) + area(b) - w * h;
  const double hull =
      (std::max(a[2], b[2]) - std::min(a[0], b[0])) * (std::max(a[3], b[3]) - std::min(a[1], b[1]));
  return 1 - w * h / (cover + 1e-7) + (hull - cover) / (hull + 1e-7);
}

double distance(double d, double beta) {
  return std::abs(d) < beta ? d * d / (2 * beta) : std::abs(d) - beta / 2;
}

Rows box_loss(const Attrs& attrs, const In& in) {
  const std::string& kind = attrs.word("kind");
  const Ints& weights = attrs.ints("weights");
  const Grid grid = grid_of(attrs, 0, 1, size_at(in[0], 2), size_at(in[0], 3));
  const std::size_t cells = grid.rows * grid.columns;
  double loss = 0;
  Row gradient(in[0].values.size(), 0.0);
  for (std::size_t n = 0; n < size_at(in[0], 0); ++n)
    for (std::size_t a = 0; a < grid.anchors(); ++a)
      for (std::size_t i = 0; i < grid.rows; ++i)
        for (std::size_t j = 0; j < grid.columns; ++j) {
          const double match = at(in[1], n, a, i, j);
          if (match < 0) continue;
          const Row box = row_of(in[2], n, static_cast<std::size_t>(match));
          const Row anchor = grid.box(i, j, a);
          const auto value = [&](const Row& deltas) {
            if (kind == "giou") return giou(decoded(anchor, deltas, weights), box);
            const Row wanted = encoded(anchor, box, weights);
            double total = 0;
            for (std::size_t d = 0; d < 4; ++d)
              total += distance(deltas[d] - wanted[d], kind == "l1" ? 0 : attrs.real("beta"));
            return total;
          };
          Row deltas;
          for (std::size_t d = 0; d < 4; ++d) deltas.push_back(at(in[0], n, 4 * a + d, i, j));
          loss += in[3].values[n] * value(deltas);
          const Row slope = slopes(deltas, value);
          for (std::size_t d = 0; d < 4; ++d)
            gradient[((n * 4 * grid.anchors() + 4 * a + d) * cells) + i * grid.columns + j] =
                in[3].values[n] * slope[d];
        }
  return {{loss}, gradient};
}

Row clipped(Row box, double height, double width) {
  for (std::size_t j = 0; j < 4; ++j) box[j] = std::clamp(box[j], 0.0, j % 2 == 0 ? width : height);
  return box;
}

// Rows of all images, each filled up to `most`, and their numbers.
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

Rows top_detections(const Attrs& attrs, const In& in) {
  const Grid grid = grid_of(attrs, 0, 1, size_at(in[0], 2), size_at(in[0], 3));
  const std::size_t classes = size_at(in[0], 1) / grid.anchors();
  std::vector<Rows> images;
  for (std::size_t n = 0; n < size_at(in[0], 0); ++n) {
    Rows rows;
    for (std::size_t i = 0; i < grid.rows; ++i)
      for (std::size_t j = 0; j < grid.columns; ++j)
        for (std::size_t a = 0; a < grid.anchors(); ++a)
          for (std::size_t k = 0; k < classes; ++k) {
            const double score = 1 / (1 + std::exp(-at(in[0], n, a * classes + k, i, j)));
            if (score <= attrs.real("threshold")) continue;
            Row deltas;
            for (std::size_t d = 0; d < 4; ++d) deltas.push_back(at(in[1], n, 4 * a + d, i, j));
            Row row = clipped(decoded(grid.box(i, j, a), deltas, attrs.ints("weights")),
                              at(in[2], n, 0), at(in[2], n, 1));
            row.insert(row.end(), {score, static_cast<double>(k)});
            rows.push_back(row);
          }
    sort_by_score(rows);
    images.push_back(rows);
  }
  return filled(images, static_cast<std::size_t>(attrs.integer("most")), 6);
}

// Crosses out instead of asking who stays.
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

Rows nms(const Attrs& attrs, const In& in) {
  std::vector<Rows> images;
  for (std::size_t n = 0; n < size_at(in[0], 0); ++n) {
    Rows rows;
    for (std::size_t l = 0; l < in.size(); l += 2)
      for (std::size_t i = 0; i < static_cast<std::size_t>(in[l + 1].values[n]); ++i) {
        rows.push_back(row_of(in[l], n, i));
        if (attrs.word("within") == "level") rows.back()[5] = static_cast<double>(l / 2);
      }
    images.push_back(surviving(rows, attrs.real("threshold")));
  }
  return filled(images, static_cast<std::size_t>(attrs.integer("keep")), 6);
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

// Which of the candidates with these codes are drawn.
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

Rows sample_matches(const Attrs& attrs, const In& in) {
  Rows out;
  for (std::size_t l = 2; l < in.size(); ++l) out.push_back(in[l].values);
  double total = 0;
  const std::size_t images = in[0].values.size();
  for (std::size_t n = 0; n < images; ++n) {
    Row codes;
    std::vector<std::pair<std::size_t, std::size_t>> places;  // level, element
    for (std::size_t l = 2; l < in.size(); ++l)
      for (std::size_t i = 0; i < size_at(in[l], 2); ++i)
        for (std::size_t j = 0; j < size_at(in[l], 3); ++j)
          for (std::size_t a = 0; a < size_at(in[l], 1); ++a) {
            codes.push_back(at(in[l], n, a, i, j));
            places.emplace_back(
                l - 2,
                ((n * size_at(in[l], 1) + a) * size_at(in[l], 2) + i) * size_at(in[l], 3) + j);
          }
    const std::set<std::size_t> taken = drawn_of(codes, attrs, in[1], n);
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (!taken.contains(i)) out[places[i].first][places[i].second] = -2;
    total += static_cast<double>(taken.size());
  }
  out.emplace_back(images, 1 / std::max(1.0, total));
  return out;
}

Rows proposals(const Attrs& attrs, const In& in) {
  const std::size_t levels = in.size() / 2;
  std::vector<Rows> images;
  for (std::size_t n = 0; n < size_at(in[0], 0); ++n) {
    Rows all;
    for (std::size_t l = 0; l < levels; ++l) {
      const Numbers &scores = in[1 + 2 * l], &deltas = in[2 + 2 * l];
      const Grid grid = grid_of(attrs, l, levels, size_at(scores, 2), size_at(scores, 3));
      Rows rows;
      for (std::size_t i = 0; i < grid.rows; ++i)
        for (std::size_t j = 0; j < grid.columns; ++j)
          for (std::size_t a = 0; a < grid.anchors(); ++a) {
            Row own;
            for (std::size_t d = 0; d < 4; ++d) own.push_back(at(deltas, n, 4 * a + d, i, j));
            Row row = clipped(decoded(grid.box(i, j, a), own, {1, 1, 1, 1}), at(in[0], n, 0),
                              at(in[0], n, 1));
            row.insert(row.end(), {at(scores, n, a, i, j), static_cast<double>(l)});
            rows.push_back(row);
          }
      sort_by_score(rows);
      rows.resize(std::min(rows.size(), static_cast<std::size_t>(attrs.integer("of_a_level"))));
      for (const Row& row : rows)
        if (std::min(row[2] - row[0], row[3] - row[1]) >= attrs.real("least_side"))
          all.push_back(row);
    }
    Rows left = surviving(all, attrs.real("threshold"));
    for (Row& row : left) row.resize(4);
    images.push_back(left);
  }
  return filled(images, static_cast<std::size_t>(attrs.integer("keep")), 4);
}

// `all`: of every proposal, in its place, whether it was drawn or not.
Rows labelled_rois(const Attrs& attrs, const In& in, bool all) {
  const std::size_t images = size_at(in[0], 0);
  const std::size_t slots =
      all ? size_at(in[0], 1) : static_cast<std::size_t>(attrs.integer("number"));
  Rows out(4);
  double used = 0;
  for (std::size_t n = 0; n < images; ++n) {
    Rows boxes, candidates;
    for (std::size_t g = 0; g < static_cast<std::size_t>(in[4].values[n]); ++g)
      boxes.push_back(row_of(in[2], n, g));
    for (std::size_t r = 0; r < static_cast<std::size_t>(in[1].values[n]); ++r)
      candidates.push_back(row_of(in[0], n, r));
    if (!all) candidates.insert(candidates.end(), boxes.begin(), boxes.end());
    Row codes;
    for (const Row& candidate : candidates) {
      Row ious;
      for (const Row& box : boxes) ious.push_back(iou(candidate, box));
      const auto best = std::max_element(ious.begin(), ious.end());
      const bool is_positive = best != ious.end() && *best >= attrs.real("positive");
      codes.push_back(is_positive ? static_cast<double>(best - ious.begin()) : -1.0);
    }
    const std::set<std::size_t> taken = drawn_of(codes, attrs, in[5], n);
    used += static_cast<double>(taken.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!all && !taken.contains(i)) continue;
      out[3].push_back(taken.contains(i) ? 1.0 : 0.0);
      out[0].insert(out[0].end(), candidates[i].begin(), candidates[i].end());
      Row target(4, 0.0);
      double label = 0;
      if (codes[i] >= 0) {
        const auto box = static_cast<std::size_t>(codes[i]);
        label = at(in[3], n, box) + 1;
        target = encoded(candidates[i], boxes[box], attrs.ints("weights"));
      }
      out[1].push_back(label);
      out[2].insert(out[2].end(), target.begin(), target.end());
    }
    out[0].resize((n + 1) * slots * 4, 0.0);
    out[1].resize((n + 1) * slots, 0.0);
    out[2].resize((n + 1) * slots * 4, 0.0);
    out[3].resize((n + 1) * slots, 0.0);
  }
  for (double& weight : out[3])
    if (weight > 0) weight = static_cast<double>(images * slots) / used;
  return out;
}

Rows sample_rois(const Attrs& attrs, const In& in) { return labelled_rois(attrs, in, false); }
Rows label_rois(const Attrs& attrs, const In& in) { return labelled_rois(attrs, in, true); }

// Weight of each cell of a level in each bin of a box: bilinear, by distances to the point.
Row bin_weights(const Attrs& attrs, const Row& roi, std::size_t level, std::size_t bin,
                std::size_t rows, std::size_t columns) {
  const auto size = static_cast<double>(attrs.integer("size"));
  const auto samples = static_cast<std::size_t>(attrs.integer("samples"));
  const double scale =
      std::pow(0.5, static_cast<double>(attrs.integer("first_level")) + static_cast<double>(level));
  const auto at_cell = [](double place, std::size_t cell, std::size_t cells) {
    const auto last = static_cast<double>(cells) - 1;
    if (place < -1 || place > last + 1) return 0.0;
    return std::max(0.0, 1 - std::abs(std::clamp(place, 0.0, last) - static_cast<double>(cell)));
  };
  Row weights(rows * columns, 0.0);
  const auto side = static_cast<std::size_t>(size);
  for (std::size_t s = 0; s < samples * samples; ++s) {
    const auto point = [&](std::size_t axis, std::size_t p, std::size_t i) {
      const double from = roi[axis] * scale;
      const double extent = std::max(1.0, roi[axis + 2] * scale - from);
      return from + extent / size *
                        (static_cast<double>(p) +
                         (static_cast<double>(i) + 0.5) / static_cast<double>(samples));
    };
    const double y = point(1, bin / side, s / samples), x = point(0, bin % side, s % samples);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        weights[i * columns + j] +=
            at_cell(y, i, rows) * at_cell(x, j, columns) / static_cast<double>(samples * samples);
  }
  return weights;
}

std::size_t level_for(const Attrs& attrs, const Row& roi, std::size_t levels) {
  const double level = std::floor(4 + std::log2(std::sqrt(area(roi)) / 224) + 1e-6) -
                       static_cast<double>(attrs.integer("first_level"));
  return static_cast<std::size_t>(std::clamp(level, 0.0, static_cast<double>(levels - 1)));
}

Row flat_row(const Numbers& matrix, std::size_t r) {
  Row row;
  for (std::size_t j = 0; j < size_at(matrix, 1); ++j) row.push_back(at(matrix, r, j));
  return row;
}

Rows roi_align(const Attrs& attrs, const In& in) {
  const auto size = static_cast<std::size_t>(attrs.integer("size"));
  const std::size_t rois = size_at(in[0], 0), channels = size_at(in[1], 1);
  const std::size_t of_image = rois / size_at(in[1], 0);
  Row out;
  for (std::size_t r = 0; r < rois; ++r) {
    const Row roi = flat_row(in[0], r);
    const std::size_t l = level_for(attrs, roi, in.size() - 1);
    const Numbers& level = in[1 + l];
    const std::size_t rows = size_at(level, 2), columns = size_at(level, 3);
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t bin = 0; bin < size * size; ++bin) {
        const Row weights = bin_weights(attrs, roi, l, bin, rows, columns);
        double value = 0;
        for (std::size_t k = 0; k < weights.size(); ++k)
          value += weights[k] * at(level, r / of_image, c, k / columns, k % columns);
        out.push_back(value);
      }
  }
  return {out};
}

Rows roi_align_grad(const Attrs& attrs, const In& in) {
  const Ints& cells = attrs.ints("cells");
  const auto size = static_cast<std::size_t>(attrs.integer("size"));
  const auto images = static_cast<std::size_t>(attrs.integer("images"));
  const std::size_t rois = size_at(in[0], 0), channels = size_at(in[0], 1);
  Rows out;
  for (std::size_t l = 0; l < cells.size(); l += 2)
    out.emplace_back(images * channels * static_cast<std::size_t>(cells[l] * cells[l + 1]), 0.0);
  for (std::size_t r = 0; r < rois; ++r) {
    const Row roi = flat_row(in[1], r);
    const std::size_t l = level_for(attrs, roi, cells.size() / 2);
    const auto rows = static_cast<std::size_t>(cells[2 * l]),
               columns = static_cast<std::size_t>(cells[2 * l + 1]);
    for (std::size_t bin = 0; bin < size * size; ++bin) {
      const Row weights = bin_weights(attrs, roi, l, bin, rows, columns);
      for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t k = 0; k < weights.size(); ++k)
          out[l][(r / (rois / images) * channels + c) * weights.size() + k] +=
              weights[k] * at(in[0], r, c, bin / size, bin % size);
    }
  }
  return out;
}

Rows roi_box_loss(const Attrs& attrs, const In& in) {
  const std::size_t rows = size_at(in[0], 0), width = size_at(in[0], 1);
  double loss = 0;
  Row gradient(in[0].values.size(), 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto label = static_cast<std::size_t>(in[1].values[r]);
    if (label == 0) continue;
    const auto value = [&](const Row& deltas) {
      double total = 0;
      for (std::size_t j = 0; j < 4; ++j)
        total += distance(deltas[j] - at(in[2], r, j), attrs.real("beta"));
      return total * in[3].values[r] / static_cast<double>(rows);
    };
    Row deltas;
    for (std::size_t j = 0; j < 4; ++j) deltas.push_back(at(in[0], r, 4 * label + j));
    loss += value(deltas);
    const Row slope = slopes(deltas, value);
    std::copy(slope.begin(), slope.end(),
              gradient.begin() + static_cast<std::ptrdiff_t>(r * width + 4 * label));
  }
  return {{loss}, gradient};
}

Rows class_detections(const Attrs& attrs, const In& in) {
  const std::size_t rois = size_at(in[2], 1), columns = size_at(in[0], 1);
  std::vector<Rows> images;
  for (std::size_t n = 0; n < size_at(in[2], 0); ++n) {
    Rows rows;
    for (std::size_t r = 0; r < static_cast<std::size_t>(in[3].values[n]); ++r)
      for (std::size_t k = 1; k < columns; ++k) {
        const double score = at(in[0], n * rois + r, k);
        if (score <= attrs.real("threshold")) continue;
        Row deltas;
        for (std::size_t j = 0; j < 4; ++j) deltas.push_back(at(in[1], n * rois + r, 4 * k + j));
        Row row = clipped(decoded(row_of(in[2], n, r), deltas, attrs.ints("weights")),
                          at(in[4], n, 0), at(in[4], n, 1));
        if (std::min(row[2] - row[0], row[3] - row[1]) < attrs.real("least_side")) continue;
        row.insert(row.end(), {score, static_cast<double>(k - 1)});
        rows.push_back(row);
      }
    images.push_back(rows);
  }
  const auto most = std::min(columns - 1, static_cast<std::size_t>(1 / attrs.real("threshold")));
  return filled(images, rois * most, 6);
}

}  // namespace

const std::map<std::string_view, OpReference>& detection_references() {
  static const std::map<std::string_view, OpReference> references{
      {"box_loss", box_loss},
      {"class_detections", class_detections},
      {"label_rois", label_rois},
      {"match_anchors", match_anchors},
      {"nms", nms},
      {"proposals", proposals},
      {"roi_align", roi_align},
      {"roi_align_grad", roi_align_grad},
      {"roi_box_loss", roi_box_loss},
      {"sample_matches", sample_matches},
      {"sample_rois", sample_rois},
      {"top_detections", top_detections},
  };
  return references;
}

}  // namespace plimsoll
