#include "tests/support/op_references.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/support/detection_references.h"

namespace plimsoll {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using In = std::vector<Numbers>;

std::size_t size_at(const Shape& shape, int axis) { return static_cast<std::size_t>(shape[axis]); }

Rows rows_of(const Numbers& matrix) {
  const std::size_t width = size_at(matrix.shape, 1);
  Rows rows;
  for (std::size_t i = 0; i < matrix.values.size(); i += width)
    rows.emplace_back(matrix.values.begin() + static_cast<std::ptrdiff_t>(i),
                      matrix.values.begin() + static_cast<std::ptrdiff_t>(i + width));
  return rows;
}

Row joined(const Rows& rows) {
  Row all;
  for (const Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

double sum(const Row& row) { return std::accumulate(row.begin(), row.end(), 0.0); }

// body(i) for every element, as one output.
template <class Body>
Row each(const Numbers& like, Body body) {
  Row result;
  for (std::size_t i = 0; i < like.values.size(); ++i) result.push_back(body(i));
  return result;
}

// The mean of `keep` parts of `old` and 1 - `keep` parts of `now`.
double blend(double keep, double old, double now) { return keep * old + (1 - keep) * now; }

// The part with the slots that its code names added to it, and how many are not.
std::pair<Row, std::size_t> carried(const In& in) {
  const double slots = static_cast<double>(in.size() - 2);
  const double held = std::clamp(in[1].values[0], 0.0, slots);
  const double merged = std::clamp(in[1].values[1], 0.0, held);
  const auto first = static_cast<std::size_t>(held - merged);
  Row sum = in[0].values;
  for (std::size_t s = first; s < static_cast<std::size_t>(held); ++s)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[2 + s].values[i];
  return {sum, first};
}

Rows carry(const Attrs&, const In& in) { return {carried(in).first}; }

Rows stow(const Attrs&, const In& in) {
  Rows slots;
  for (std::size_t s = 2; s < in.size(); ++s) slots.push_back(in[s].values);
  const auto [sum, first] = carried(in);
  if (first < slots.size()) slots[first] = sum;
  return slots;
}

// Of one rank.
Rows bn_meet(const Attrs& attrs, const In& in) {
  const double images = std::max<double>(1, static_cast<double>(attrs.integer("images")));
  return {each(in[0], [&](auto c) { return in[0].values[c] / images; }),
          each(in[1], [&](auto c) { return in[1].values[c] / images; })};
}

Rows gather(const Attrs&, const In& in) {
  Rows weights;
  for (const Numbers& weight : in) weights.push_back(weight.values);
  return weights;
}

Rows reduce(const Attrs& attrs, const In& in) {
  Rows sums;
  for (std::size_t i = 0; i < static_cast<std::size_t>(attrs.integer("sums")); ++i)
    sums.push_back(in[i].values);
  return sums;
}

Rows absolute_error(const Attrs&, const In& in) {
  return {{sum(each(in[0], [&](auto i) { return std::abs(in[0].values[i] - in[1].values[i]); }))}};
}

Rows binary_accuracy(const Attrs&, const In& in) {
  const Rows logits = rows_of(in[0]);
  const Rows targets = rows_of(in[1]);
  double right = 0;
  double whole = 0;
  for (std::size_t n = 0; n < logits.size(); ++n) {
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < logits[n].size(); ++k) {
      const double probability = 1 / (1 + std::exp(-logits[n][k]));
      wrong += std::lround(probability) != std::lround(targets[n][k]) ? 1 : 0;
    }
    right += static_cast<double>(logits[n].size() - wrong);
    whole += wrong == 0 ? 1 : 0;
  }
  return {{right, whole}};
}

Rows accuracy(const Attrs&, const In& in) {
  double first = 0;
  double among_five = 0;
  const Rows scores = rows_of(in[0]);
  for (std::size_t n = 0; n < scores.size(); ++n) {
    std::vector<std::size_t> best(scores[n].size());
    std::iota(best.begin(), best.end(), 0);
    std::stable_sort(best.begin(), best.end(),
                     [&](auto a, auto b) { return scores[n][a] > scores[n][b]; });
    const auto label = static_cast<std::size_t>(in[1].values[n]);
    const auto rank = std::find(best.begin(), best.end(), label) - best.begin();
    first += rank == 0;
    among_five += rank <= 4;
  }
  return {{first, among_five}};
}

// The gradient after clipping by the norm of all, the last input.
Row clipped(const Attrs& attrs, const In& in) {
  const double limit = attrs.real("clip_norm");
  const double norm = in.back().values[0];
  return each(in[1], [&](auto i) {
    return in[1].values[i] * (limit > 0 ? std::min(1.0, limit / norm) : 1.0);
  });
}

Rows adam(const Attrs& attrs, const In& in) {
  const double t = in[5].values[0] + 1;
  const double lr = in[4].values[0] * attrs.real("lr_factor");
  const double b1 = attrs.real("beta1");
  const double b2 = attrs.real("beta2");
  const double decay = attrs.real("weight_decay");
  const bool decoupled = attrs.flag("decoupled");
  Row w = in[0].values;
  Row m = in[2].values;
  Row v = in[3].values;
  Row g = clipped(attrs, in);
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (!decoupled) g[i] += decay * w[i];
    m[i] = blend(b1, m[i], g[i]);
    v[i] = blend(b2, v[i], g[i] * g[i]);
    if (decoupled) w[i] *= 1 - lr * decay;
    const double unbiased_m = m[i] / (1 - std::pow(b1, t));
    // Keras adds epsilon to the biased root.
    const double unbias_v = std::sqrt(1 - std::pow(b2, t));
    w[i] -= lr * unbiased_m / ((std::sqrt(v[i]) + attrs.real("epsilon")) / unbias_v);
  }
  return {w, m, v};
}

Rows bn_update(const Attrs& attrs, const In& in) {
  const double keep = attrs.real("momentum");
  return {each(in[0], [&](auto c) { return blend(keep, in[0].values[c], in[2].values[c]); }),
          each(in[1], [&](auto c) { return blend(keep, in[1].values[c], in[3].values[c]); })};
}

// Elements of one channel of one sample.
std::size_t cells_of(const Shape& shape) {
  return static_cast<std::size_t>(shape.elements() / (shape[0] * shape[1]));
}

Rows concat(const Attrs&, const In& in) {
  Row whole;
  for (std::size_t n = 0; n < size_at(in[0].shape, 0); ++n)
    for (const Numbers& part : in) {
      const auto length =
          static_cast<std::ptrdiff_t>(size_at(part.shape, 1) * cells_of(part.shape));
      const auto sample = part.values.begin() + static_cast<std::ptrdiff_t>(n) * length;
      whole.insert(whole.end(), sample, sample + length);
    }
  return {whole};
}

Rows split(const Attrs& attrs, const In& in) {
  Rows parts(attrs.ints("sizes").size());
  auto next = in[0].values.begin();
  for (std::size_t n = 0; n < size_at(in[0].shape, 0); ++n)
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto length = attrs.ints("sizes")[p] * static_cast<std::int64_t>(cells_of(in[0].shape));
      parts[p].insert(parts[p].end(), next, next + length);
      next += length;
    }
  return parts;
}

Rows fill(const Attrs& attrs, const In&) {
  std::size_t count = 1;
  for (std::int64_t dim : attrs.ints("shape")) count *= static_cast<std::size_t>(dim);
  return {Row(count, attrs.real("value"))};
}

double squares(const Row& row) {
  return std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
}

Rows global_norm(const Attrs&, const In& in) {
  double total = 0;
  for (std::size_t i = 1; i < in.size(); ++i) total += squares(in[i].values);
  return {{std::sqrt(total)}};
}

Rows l2(const Attrs& attrs, const In& in) {
  double total = 0;
  for (const Numbers& weight : in) total += squares(weight.values);
  return {{attrs.real("factor") * total}};
}

Rows mean_squared_error(const Attrs&, const In& in) {
  const auto count = static_cast<double>(in[0].values.size());
  const Row miss = each(in[0], [&](auto i) { return in[0].values[i] - in[1].values[i]; });
  return {{squares(miss) / count}, each(in[0], [&](auto i) { return 2 / count * miss[i]; })};
}

Rows moving_average(const Attrs& attrs, const In& in) {
  const auto first = static_cast<std::size_t>(attrs.integer("first"));
  return {each(in[0], [&](auto i) {
    return blend(attrs.real("decay"), in[0].values[i], in[1].values[first + i]);
  })};
}

Rows one_hot(const Attrs& attrs, const In& in) {
  Rows rows;
  for (double label : in[0].values) {
    rows.emplace_back(static_cast<std::size_t>(attrs.integer("classes")), 0.0);
    rows.back().at(static_cast<std::size_t>(label)) = 1;
  }
  return {joined(rows)};
}

Rows rmsprop(const Attrs& attrs, const In& in) {
  const bool has_momentum = attrs.real("momentum") > 0;
  const double lr = in[has_momentum ? 4 : 3].values[0] * attrs.real("lr_factor");
  Row w = in[0].values;
  Row v = in[2].values;
  Row m = has_momentum ? in[3].values : Row(w.size(), 0.0);
  Row g = clipped(attrs, in);
  for (std::size_t i = 0; i < w.size(); ++i) {
    g[i] += attrs.real("weight_decay") * w[i];
    v[i] = blend(attrs.real("rho"), v[i], g[i] * g[i]);
    m[i] = attrs.real("momentum") * m[i] + lr * g[i] / std::sqrt(v[i] + attrs.real("epsilon"));
    w[i] -= m[i];
  }
  return has_momentum ? Rows{w, v, m} : Rows{w, v};
}

Rows scale(const Attrs& attrs, const In& in) {
  const double by = attrs.real("factor") * (in.size() > 1 ? in[1].values[0] : 1.0);
  return {each(in[0], [&](auto i) { return by * in[0].values[i]; })};
}

Rows sgd(const Attrs& attrs, const In& in) {
  const double momentum = attrs.real("momentum");
  const bool has_momentum = momentum > 0;
  const double lr = in[has_momentum ? 3 : 2].values[0] * attrs.real("lr_factor");
  Row w = in[0].values;
  Row v = has_momentum ? in[2].values : Row(w.size(), 0.0);
  Row g = clipped(attrs, in);
  for (std::size_t i = 0; i < w.size(); ++i) {
    g[i] += attrs.real("weight_decay") * w[i];
    v[i] = momentum * v[i] - lr * g[i];
    w[i] += attrs.flag("nesterov") ? momentum * v[i] - lr * g[i] : v[i];
  }
  return has_momentum ? Rows{w, v} : Rows{w};
}

Rows sigmoid_cross_entropy(const Attrs&, const In& in) {
  const auto count = static_cast<double>(in[0].values.size());
  const Row& t = in[1].values;
  const Row p = each(in[0], [&](auto i) { return 1 / (1 + std::exp(-in[0].values[i])); });
  const Row loss =
      each(in[0], [&](auto i) { return -t[i] * std::log(p[i]) - (1 - t[i]) * std::log(1 - p[i]); });
  return {{sum(loss) / count}, each(in[0], [&](auto i) { return (p[i] - t[i]) / count; })};
}

Row probabilities(const Row& scores) {
  Row p;
  for (double score : scores) p.push_back(std::exp(score));
  const double total = sum(p);
  for (double& one : p) one /= total;
  return p;
}

Rows softmax(const Attrs&, const In& in) {
  Rows rows = rows_of(in[0]);
  for (Row& row : rows) row = probabilities(row);
  return {joined(rows)};
}

// By the Jacobian: dy[j] / dx[k] = y[j] * ((j == k) - y[k]).
Rows softmax_grad(const Attrs&, const In& in) {
  const Rows dy = rows_of(in[0]);
  const Rows y = rows_of(in[1]);
  Row dx;
  for (std::size_t n = 0; n < y.size(); ++n)
    for (std::size_t k = 0; k < y[n].size(); ++k) {
      double slope = 0;
      for (std::size_t j = 0; j < y[n].size(); ++j)
        slope += dy[n][j] * y[n][j] * ((j == k ? 1.0 : 0.0) - y[n][k]);
      dx.push_back(slope);
    }
  return {dx};
}

// Cross entropy against the target as a distribution, which it is built up to.
Rows softmax_cross_entropy(const Attrs& attrs, const In& in) {
  const Rows scores = rows_of(in[0]);
  const auto batch = static_cast<double>(scores.size());
  const double smoothing = attrs.real("smoothing");
  double loss = 0;
  Row gradient;
  for (std::size_t n = 0; n < scores.size(); ++n) {
    const Row p = probabilities(scores[n]);
    const bool mixed = in.size() > 4;
    Row target(p.size(), 0.0);
    target.at(static_cast<std::size_t>(in[1].values[n])) += mixed ? 1 - in[4].values[n] : 1.0;
    if (mixed) target.at(static_cast<std::size_t>(in[3].values[n])) += in[4].values[n];
    for (double& share : target) share = blend(smoothing, 1 / static_cast<double>(p.size()), share);
    const double weight = in.size() > 2 ? in[2].values[n] : 1.0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      loss -= weight * target[k] * std::log(p[k]) / batch;
      gradient.push_back(weight * (p[k] - target[k]) / batch);
    }
  }
  return {{loss}, gradient};
}

// An update of all of a weight, or of some of its elements, which are then all that it sees.
template <Rows (*update)(const Attrs&, const In&)>
Rows of_shard(const Attrs& attrs, const In& in) {
  const std::int64_t count = attrs.integer("count");
  if (count == 0) return update(attrs, in);
  const auto first = attrs.integer("first");
  In cut = in;
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    cut[i].values = Row(in[i].values.begin() + first, in[i].values.begin() + first + count);
  Rows rows = update(attrs, cut);
  Row whole = in[0].values;
  std::ranges::copy(rows[0], whole.begin() + first);
  rows[0] = std::move(whole);
  return rows;
}

}  // namespace

OpReference find_reference(std::string_view op) {
  static const std::map<std::string_view, OpReference> references{
      {"absolute_error", absolute_error},
      {"accuracy", accuracy},
      {"adam", of_shard<adam>},
      {"binary_accuracy", binary_accuracy},
      {"bn_meet", bn_meet},
      {"bn_update", bn_update},
      {"carry", carry},
      {"concat", concat},
      {"fill", fill},
      {"gather", gather},
      {"global_norm", global_norm},
      {"l2", l2},
      {"mean_squared_error", mean_squared_error},
      {"moving_average", moving_average},
      {"one_hot", one_hot},
      {"reduce", reduce},
      {"rmsprop", of_shard<rmsprop>},
      {"scale", scale},
      {"sgd", of_shard<sgd>},
      {"sigmoid_cross_entropy", sigmoid_cross_entropy},
      {"softmax", softmax},
      {"softmax_cross_entropy", softmax_cross_entropy},
      {"softmax_grad", softmax_grad},
      {"split", split},
      {"stow", stow},
  };
  for (const auto* table :
       {&references, &reference::anchor_references(), &reference::roi_references()})
    if (const auto found = table->find(op); found != table->end()) return found->second;
  return nullptr;
}

}  // namespace plimsoll
