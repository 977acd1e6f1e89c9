#include <algorithm>
#include <cmath>

#include "tests/support/box_rows.h"
#include "tests/support/detection_references.h"

namespace plimsoll::reference {
namespace {

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

const std::map<std::string_view, OpReference>& roi_references() {
  static const std::map<std::string_view, OpReference> references{
      {"class_detections", class_detections},
      {"label_rois", label_rois},
      {"roi_align", roi_align},
      {"roi_align_grad", roi_align_grad},
      {"roi_box_loss", roi_box_loss},
      {"sample_rois", sample_rois},
  };
  return references;
}

}  // namespace plimsoll::reference
