#include "run/recorder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/memory_usage.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestResults{std::int64_t{64} << 20};

// The columns of results.csv that are a task's, in groups, by place in its metrics.
struct MetricColumns {
  std::vector<std::size_t> beside;          // of training and, again, of validation
  std::vector<std::size_t> training;        // behind all others: of training,
  std::vector<std::size_t> validation;      // of validation alone,
  std::vector<std::size_t> also_validated;  // and once more those of training

  explicit MetricColumns(const Task& task) {
    for (std::size_t m = 0; m < task.metrics().size(); ++m) {
      const Metric& metric = task.metrics()[m];
      if (metric.column == Metric::Column::beside_loss) {
        if (metric.of_training) beside.push_back(m);
        continue;
      }
      (metric.of_training ? training : validation).push_back(m);
      if (metric.of_training) also_validated.push_back(m);
    }
  }
  std::size_t count() const {
    return 2 * beside.size() + training.size() + validation.size() + also_validated.size();
  }
};

// Of results.csv.
std::string header(const Task& task) {
  const MetricColumns columns(task);
  std::string names = "epoch,step,time,loss";
  const auto add = [&](const std::vector<std::size_t>& group, const char* prefix) {
    for (std::size_t m : group) names += "," + (prefix + task.metrics()[m].name);
  };
  add(columns.beside, "");
  names += ",val_loss";
  add(columns.beside, "val_");
  names += ",lr,images_per_second,data_wait_percent,memory_bytes";
  add(columns.training, "");
  add(columns.validation, "val_");
  add(columns.also_validated, "val_");
  return names;
}

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                        : nlohmann::ordered_json(nullptr);
}

// "val_loss" and "val_..." for every metric; null where there was no validation.
void put_validation(nlohmann::ordered_json& json, const Task& task,
                    const std::optional<Evaluation>& found) {
  json["val_loss"] = number(found ? std::optional(found->loss) : std::nullopt);
  for (std::size_t m = 0; m < task.metrics().size(); ++m)
    json["val_" + task.metrics()[m].name] =
        number(found ? std::optional(found->metrics[m]) : std::nullopt);
}

nlohmann::ordered_json budget_json(std::int64_t bytes) {
  return bytes == kUnlimited.count ? nlohmann::ordered_json(nullptr)
                                   : nlohmann::ordered_json(bytes);
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Number>
bool parse_cell(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string results_csv(const Task& task, const std::vector<ResultsRow>& rows) {
  const MetricColumns columns(task);
  std::string text = header(task) + "\n";
  for (const ResultsRow& row : rows) {
    const Evaluation shown = row.validation.value_or(Evaluation{});
    const auto validated = [&](double value) {
      text += row.validation ? fmt::format(",{:.9g}", value) : std::string(",");
    };
    const auto trained = [&](double value) { text += fmt::format(",{:.9g}", value); };
    text += fmt::format("{},{},{:.3f},{:.9g}", row.epoch, row.step, row.time, row.loss);
    for (std::size_t m : columns.beside) trained(row.metrics[m]);
    validated(shown.loss);
    for (std::size_t m : columns.beside) validated(shown.metrics[m]);
    text += fmt::format(",{:.9g},{:.4g},{:.3g},{}", row.lr, row.images_per_second,
                        row.data_wait_percent, row.memory.count);
    for (std::size_t m : columns.training) trained(row.metrics[m]);
    for (std::size_t m : columns.validation) validated(shown.metrics[m]);
    for (std::size_t m : columns.also_validated) validated(shown.metrics[m]);
    text += "\n";
  }
  return text;
}

std::vector<ResultsRow> parse_results(const Task& task, const std::string& text,
                                      const std::string& where) {
  const MetricColumns columns(task);
  const std::string names = header(task);
  std::vector<ResultsRow> rows;
  std::int64_t line = 0;
  for (std::string_view content : split(text, '\n')) {
    ++line;
    if (content.empty() || content == names) continue;
    const std::vector<std::string_view> cells = split(content, ',');
    ResultsRow row;
    std::size_t at = 0;
    bool good = cells.size() == 9 + columns.count();
    const auto take = [&](auto& value) { good = good && parse_cell(cells[at++], value); };
    const auto take_validated = [&](const std::vector<std::size_t>& group) {
      for (std::size_t m : group)
        if (row.validation)
          take(row.validation->metrics[m]);
        else
          ++at;
    };
    take(row.epoch);
    take(row.step);
    take(row.time);
    take(row.loss);
    for (std::size_t m : columns.beside) take(row.metrics[m]);
    if (good && !cells[at].empty()) row.validation.emplace();
    if (row.validation)
      take(row.validation->loss);
    else
      ++at;
    take_validated(columns.beside);
    take(row.lr);
    take(row.images_per_second);
    take(row.data_wait_percent);
    take(row.memory.count);
    for (std::size_t m : columns.training) take(row.metrics[m]);
    take_validated(columns.validation);
    take_validated(columns.also_validated);
    if (!good)
      throw DataError({.where = where + ":" + std::to_string(line),
                       .got = "'" + std::string(content) + "'",
                       .expected = "expected the columns " + names});
    rows.push_back(row);
  }
  return rows;
}

std::string report_json(const Task& task, const RunReport& report) {
  nlohmann::ordered_json json;
  json["model"] = report.model;
  json["steps"] = report.steps;
  json["epochs"] = report.epochs;
  json["images"] = report.images;
  json["seconds"] = report.seconds;
  json["images_per_second"] = report.images_per_second;
  json["budget_bytes"] = budget_json(report.budget_bytes);
  json["predicted_bytes"] = report.predicted_bytes;
  json["arena_bytes"] = report.arena_bytes;
  json["measured_peak_bytes"] = report.measured_peak_bytes;
  if (report.cgroup_peak_bytes) json["cgroup_peak_bytes"] = *report.cgroup_peak_bytes;
  json["data_wait_percent"] = report.data_wait_percent;
  json["loss"] = number(report.loss);
  for (std::size_t m : metrics_of_training(task))
    json[task.metrics()[m].name] = number(report.metrics[m]);
  put_validation(json, task, report.validation);
  json["stopped_by"] = to_string(report.stopped_by);
  for (const auto& [host, it] : report.ranks)
    json["ranks"].push_back({{"host", host},
                             {"threads", it.threads},
                             {"predicted_bytes", it.predicted_bytes},
                             {"measured_peak_bytes", it.measured_peak_bytes},
                             {"wait_data", it.wait_data_seconds},
                             {"wait_others", it.wait_others_seconds},
                             {"exchange_bytes", it.exchange_bytes}});
  return json_text(json);
}

Recorder::Recorder(const RunOptions& options, const Task& task, const RunState& from, Tell tell)
    : options_(options), task_(task), tell_(std::move(tell)), state_(from) {
  const std::filesystem::path path = options.out / "results.csv";
  std::error_code error;
  if (from.step > 0 && std::filesystem::exists(path, error))
    attempt("results.csv",
            [&] { rows_ = parse_results(task_, read_file(path, kLargestResults), path); });
  go_back(from.epoch);
}

void Recorder::attempt(const char* file, const std::function<void()>& write) {
  if (!options_.leads()) return;
  std::string news;
  try {
    write();
    const std::scoped_lock lock(mutex_);
    std::erase(failing_, file);
  } catch (const std::exception& error) {
    const std::scoped_lock lock(mutex_);
    if (std::find(failing_.begin(), failing_.end(), file) != failing_.end()) return;
    failing_.emplace_back(file);
    news = fmt::format("{} could not be written: {}; the run goes on", file, error.what());
  }
  if (!news.empty()) tell_(news);
}

void Recorder::log(const std::string& text) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  attempt("log.txt", [&] {
    append_file(options_.out / "log.txt", fmt::format("{:%Y-%m-%d %H:%M:%S} {}\n", now, text));
  });
}

void Recorder::message(const std::string& text) {
  log(text);
  tell_(text);
}

void Recorder::go_back(std::int64_t epochs) {
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(rows_, [&](const ResultsRow& row) { return row.epoch > epochs; });
    seconds_before_ = rows_.empty() ? 0 : rows_.back().time;
    watch_ = Stopwatch();
  }
  attempt("results.csv",
          [&] { write_file(options_.out / "results.csv", results_csv(task_, rows_)); });
}

double Recorder::seconds() const {
  const std::scoped_lock lock(mutex_);
  return seconds_before_ + watch_.seconds();
}

void Recorder::add(const ResultsRow& row) {
  {
    const std::scoped_lock lock(mutex_);
    rows_.push_back(row);
    validation_ = row.validation;
  }
  attempt("results.csv", [&] {
    make_directories(options_.out);
    write_file(options_.out / "results.csv", results_csv(task_, rows_));
  });
}

void Recorder::note(const Progress& progress, const RunState& state) {
  const std::scoped_lock lock(mutex_);
  progress_ = progress;
  state_ = state;
  const std::int64_t all_steps = progress.batches * options_.epochs;
  if (progress.purpose == Purpose::train && all_steps > 0)
    steps_ = options_.steps > 0 ? std::min(options_.steps, all_steps) : all_steps;
}

void Recorder::note_ranks(std::vector<RankStatus> ranks) {
  const std::scoped_lock lock(mutex_);
  ranks_ = std::move(ranks);
}

std::string Recorder::status_json(std::string_view state) const {
  const std::scoped_lock lock(mutex_);
  const MemoryUsage usage = memory_usage();
  nlohmann::ordered_json json;
  json["pid"] = ::getpid();
  json["state"] = !stopped_by_ ? state : is_done(*stopped_by_) ? "done" : "stopped";
  json["model"] = options_.model;
  json["data"] = options_.data;
  for (const RankStatus& rank : ranks_) json["ranks"].push_back(to_json(rank));
  json["epoch"] = progress_.epoch;
  json["epochs"] = options_.epochs;
  json["step"] = state_.step;
  json["steps"] = steps_;
  json["loss"] = number(progress_.loss);
  const std::string& metric = task_.metrics()[0].name;
  json[metric] = number(progress_.metrics[0]);
  json["val_" + metric] =
      number(validation_ ? std::optional(validation_->metrics[0]) : std::nullopt);
  json["lr"] = progress_.lr;
  json["images_per_second"] = progress_.images_per_second;
  json["data_wait_percent"] = progress_.data_wait_percent;
  // Of all training that is left, at this speed.
  const auto images_left = static_cast<double>((steps_ - state_.step) * options_.batch);
  json["eta_seconds"] = number(images_left / progress_.images_per_second);
  json["budget_bytes"] = budget_json(options_.budget_bytes);
  json["predicted_bytes"] = options_.predicted_bytes;
  json["resident_bytes"] = usage.resident.count;
  json["peak_bytes"] = usage.peak().count;
  json["ledger"] = nlohmann::ordered_json::array();
  for (const LedgerLine& line : options_.ledger.lines)
    json["ledger"].push_back({{"line", line.line}, {"bytes", line.bytes}});
  const double now = unix_seconds();
  json["started"] = now - watch_.seconds();
  json["updated"] = now;
  json["stopped_by"] = nullptr;
  if (stopped_by_) json["stopped_by"] = to_string(*stopped_by_);
  return json_text(json);
}

void Recorder::write_status(std::string_view state) {
  const std::scoped_lock lock(status_file_);
  attempt("status.json", [&] { replace_file(options_.out / "status.json", status_json(state)); });
}

void Recorder::write_report(const RunReport& report) {
  if (report.stopped_by == StopReason::pause) return write_status("planning");
  attempt("report.json", [&] {
    make_directories(options_.out);
    write_file(options_.out / "report.json", report_json(task_, report));
  });
  {
    const std::scoped_lock lock(mutex_);
    stopped_by_ = report.stopped_by;
  }
  write_status("");
}

}  // namespace plimsoll
