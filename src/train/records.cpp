#include "train/records.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll {

ResultsFile::ResultsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  file_ << "epoch,step,time,loss,accuracy,val_loss,val_accuracy,lr,images_per_second,data_wait_"
           "percent,memory_bytes\n"
        << std::flush;
  check();
}

void ResultsFile::append(const ResultsRow& row) {
  const auto or_empty = [&](double Progress::*field) {
    return row.validation ? fmt::format("{:.9g}", (*row.validation).*field) : std::string();
  };
  file_ << fmt::format("{},{},{:.3f},{:.9g},{:.9g},{},{},{:.9g},{:.4g},{:.3g},{}\n", row.epoch,
                       row.step, row.time, row.train.loss, row.train.accuracy,
                       or_empty(&Progress::loss), or_empty(&Progress::accuracy), row.lr,
                       row.train.images_per_second, row.train.data_wait_percent, row.memory.count)
        << std::flush;
  check();
}

void ResultsFile::check() const {
  if (!file_) throw_file_error(path_, "cannot write", errno);
}

std::string report_json(const RunReport& report) {
  const auto number = [](std::optional<double> value) {
    return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                          : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json;
  json["model"] = report.model;
  json["steps"] = report.steps;
  json["epochs"] = report.epochs;
  json["images"] = report.images;
  json["seconds"] = report.seconds;
  json["images_per_second"] = report.images_per_second;
  json["budget_bytes"] = nullptr;  // unlimited
  if (report.budget_bytes != kUnlimited.count) json["budget_bytes"] = report.budget_bytes;
  json["predicted_bytes"] = report.predicted_bytes;
  json["arena_bytes"] = report.arena_bytes;
  json["measured_peak_bytes"] = report.measured_peak_bytes;
  if (report.cgroup_peak_bytes) json["cgroup_peak_bytes"] = *report.cgroup_peak_bytes;
  json["data_wait_percent"] = report.data_wait_percent;
  json["loss"] = number(report.loss);
  json["accuracy"] = number(report.accuracy);
  json["val_loss"] = number(report.val_loss);
  json["val_accuracy"] = number(report.val_accuracy);
  json["stopped_by"] = report.stopped_by;
  return json.dump(2) + "\n";
}

void write_report(const std::filesystem::path& path, const RunReport& report) {
  write_file(path, report_json(report));
}

}  // namespace plimsoll
