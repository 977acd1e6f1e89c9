#include <algorithm>
#include <cmath>

#include "tests/support/box_rows.h"
#include "tests/support/detection_references.h"

namespace plimsoll::reference {
namespace {

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

double giou(const Row& a, const Row& b) {
  const double w = std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const double h = std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double cover = area(a) + area(b) - w * h;
  const double hull =
      (std::max(a[2], b[2]) - std::min(a[0], b[0])) * (std::max(a[3], b[3]) - std::min(a[1], b[1]));
  return 1 - w * h / (cover + 1e-7) + (hull - cover) / (hull + 1e-7);
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

}  // namespace

const std::map<std::string_view, OpReference>& anchor_references() {
  static const std::map<std::string_view, OpReference> references{
      {"box_loss", box_loss},
      {"match_anchors", match_anchors},
      {"nms", nms},
      {"proposals", proposals},
      {"sample_matches", sample_matches},
      {"top_detections", top_detections},
  };
  return references;
}

}  // namespace plimsoll::reference
