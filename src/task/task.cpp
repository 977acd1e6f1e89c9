#include "task/task.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {

TensorView StepTensors::at(std::string_view name) const {
  const std::optional<TensorView> view = find_(name);
  expect(view.has_value(), "a step has the tensors that its task asks for");
  return *view;
}

std::span<const float> StepTensors::row(std::string_view name, std::int64_t n) const {
  const TensorView matrix = at(name);
  return {matrix.image<float>(n), static_cast<std::size_t>(matrix.spec.shape[1])};
}

nn::Regions Task::regions(Graph&, const std::vector<nn::Level>&, const nn::RegionOptions&,
                          bool) const {
  bug("a network of two stages is built for a task without boxes");
}

std::vector<Prediction> best_of(std::span<const float> outputs, std::size_t most,
                                const std::function<double(double)>& score,
                                std::span<const std::string> names) {
  struct Scored {
    std::size_t number;
    double score;
  };
  std::vector<Scored> all;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    all.push_back({k, score(static_cast<double>(outputs[k]))});
  const auto count = static_cast<std::ptrdiff_t>(std::min(all.size(), most));
  std::partial_sort(all.begin(), all.begin() + count, all.end(),
                    [](const Scored& a, const Scored& b) {
                      return a.score != b.score ? a.score > b.score : a.number < b.number;
                    });
  std::vector<Prediction> best;
  for (const Scored& one : std::span(all).first(static_cast<std::size_t>(count)))
    best.push_back(
        {.name = one.number < names.size() ? names[one.number] : std::to_string(one.number),
         .score = one.score,
         .label = static_cast<std::int32_t>(one.number)});
  return best;
}

std::size_t headline_of(const Task& task) {
  const std::vector<Metric>& all = task.metrics();
  const auto found = std::ranges::find_if(all, [](const Metric& one) { return !one.is_mean; });
  return found == all.end() ? 0 : static_cast<std::size_t>(found - all.begin());
}

std::vector<std::size_t> metrics_of_training(const Task& task) {
  std::vector<std::size_t> found;
  for (std::size_t m = 0; m < task.metrics().size(); ++m)
    if (task.metrics()[m].of_training) found.push_back(m);
  return found;
}

std::size_t find_metric(const Task& task, std::string_view name, const char* option) {
  std::vector<std::string> names;
  for (const Metric& metric : task.metrics()) {
    if (metric.name == name) return names.size();
    names.push_back(metric.name);
  }
  throw UsageError({.where = option,
                    .got = "'" + std::string(name) + "'",
                    .expected = "expected one of " + join(names, ", "),
                    .hint = did_you_mean(nearest(std::string(name), names))});
}

}  // namespace plimsoll
