#include "job/scanned_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace plimsoll::job {
namespace {

constexpr double kImbalance = 10;

// "a.jpg, b.jpg and 12 more".
std::string examples(const ScannedData& data, const std::vector<std::int64_t>& samples,
                     std::int64_t count) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (const std::int64_t i : samples)
    if (names.size() < kShown) names.push_back(data.place(i));
  const std::int64_t more = count - std::ssize(names);
  return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

using Leaks = std::vector<std::pair<std::int64_t, std::int64_t>>;

void add_finding(const ScannedData& data, const Finding& finding, Severity severity,
                 std::string_view one, std::string_view many, std::string hint,
                 std::vector<Remark>& remarks) {
  if (finding.count == 0) return;
  remarks.push_back(
      {severity, data.name,
       counted(finding.count, one, many) + ": " + examples(data, finding.samples, finding.count),
       std::move(hint)});
}

void find_class_remarks(const ScannedData& data, std::vector<Remark>& remarks) {
  const std::vector<std::string>& names = data.source->class_names();
  const std::vector<std::int64_t>& counts = data.source->index().per_class;
  const bool has_boxes = data.source->has_boxes();
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[i] == 0) empty.push_back("'" + names[i] + "'");
    if (names[i].starts_with('.'))
      remarks.push_back({Severity::warning, data.name,
                         "the hidden folder '" + names[i] + "' is a class, as it is for Keras",
                         "remove it if it is not meant"});
  }
  if (!empty.empty()) {
    const std::size_t count = empty.size();
    if (count > 10) empty.resize(10);
    remarks.push_back({Severity::warning, data.name,
                       counted(static_cast<std::int64_t>(count), "class has", "classes have") +
                           (has_boxes ? " no boxes: " : " no samples: ") + join(empty, ", ") +
                           (count > 10 ? ", ..." : ""),
                       "their outputs would only learn to be silent"});
  }
  // A detector of one kind of thing is a detector; a classifier of one class is none.
  if (names.size() < 2 && !has_boxes)
    remarks.push_back({Severity::warning, data.name, "there is only one class",
                       "a network learns nothing from it"});
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (const std::int64_t count : counts)
    if (count > 0) {
      least = least == 0 ? count : std::min(least, count);
      most = std::max(most, count);
    }
  if (least > 0 && static_cast<double>(most) > kImbalance * static_cast<double>(least)) {
    const auto name_of = [&](std::int64_t count) {
      return names[static_cast<std::size_t>(std::ranges::find(counts, count) - counts.begin())];
    };
    remarks.push_back({Severity::warning, data.name,
                       fmt::format("classes are uneven: '{}' has {} and '{}' {}", name_of(most),
                                   most, name_of(least), least),
                       has_boxes ? "the rare ones will be found less well"
                                 : "accuracy will say little about the rare ones"});
  }
}

void find_box_remarks(const ScannedData& data, std::vector<Remark>& remarks) {
  const ScanReport& report = data.report;
  add_finding(data, report.inverted, Severity::warning, "box has its corners exchanged",
              "boxes have their corners exchanged", "left out of training", remarks);
  add_finding(data, report.empty, Severity::warning, "box has no area", "boxes have no area",
              "left out of training", remarks);
  add_finding(data, report.outside, Severity::warning, "box reaches beyond its picture",
              "boxes reach beyond their pictures", "cut at its edge", remarks);
  add_finding(data, report.other_size, Severity::warning,
              "picture has another size than its annotation says",
              "pictures have another size than their annotations say",
              "boxes are placed by the annotation's size; look at the pictures (--pictures DIR)",
              remarks);
}

}  // namespace

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string ScannedData::place(std::int64_t i) const {
  const std::string where = source->where(i);
  const std::string folder = name + (name.ends_with('/') ? "" : "/");
  return where.starts_with(folder) ? where.substr(folder.size()) : where;
}

std::string ScannedData::class_of(std::int64_t i) const {
  const std::int32_t label = source->label(i);
  return label < 0 ? "" : source->class_names()[static_cast<std::size_t>(label)];
}

std::int64_t ScannedData::bad() const {
  return std::ssize(report.bad) + std::ssize(source->defects());
}

void find_remarks(const ScannedData& data, std::vector<Remark>& remarks) {
  const ScanReport& report = data.report;
  for (const Complaint& defect : data.source->defects()) remarks.push_back(to_remark(defect));
  for (const BadSample& bad : report.bad) remarks.push_back(to_remark(bad.complaint));
  for (const std::string& note : data.source->index().notes)
    remarks.push_back({Severity::note, data.name, note, ""});
  if (!report.is_whole)
    remarks.push_back({Severity::warning, data.name, "the scan was stopped before its end", ""});
  find_class_remarks(data, remarks);
  add_finding(data, report.wrong_extension, Severity::note,
              "file is of another format than its name says",
              "files are of another format than their names say",
              "read all the same: the content decides", remarks);
  add_finding(data, report.turned, Severity::note, "photograph is stored turned (EXIF, XMP)",
              "photographs are stored turned (EXIF, XMP)",
              "turned upright, boxes too; tools that ignore it see them otherwise", remarks);
  for (const auto& [words, finding] : report.oddities)
    add_finding(data, finding, Severity::note, "JPEG has " + words, "JPEGs have " + words,
                "read all the same: it changes no pixel", remarks);
  if (report.duplicates_of_other_class.count > 0)
    add_finding(data, report.duplicates_of_other_class, Severity::warning,
                "sample is in two classes with the same content",
                "samples are in several classes with the same content",
                "decide which class each belongs to", remarks);
  if (!report.duplicates.empty()) {
    std::int64_t copies = 0;
    for (const auto& group : report.duplicates) copies += std::ssize(group) - 1;
    const auto& first = report.duplicates[0];
    remarks.push_back({Severity::warning, data.name,
                       fmt::format("{} of other samples, in {}; the first: {} = {}",
                                   counted(copies, "sample is a copy", "samples are copies"),
                                   counted(std::ssize(report.duplicates), "group", "groups"),
                                   data.place(first[0]), data.place(first[1])),
                       "they weigh more than others, and leak when the set is split"});
  }
  find_box_remarks(data, remarks);
}

void find_remarks(const ScannedData& train, const ScannedData& validation,
                  std::vector<Remark>& remarks) {
  Leaks same;
  Leaks other;
  for (const auto& leak : find_leaks(train.report, validation.report))
    (validation.class_of(leak.first) == train.class_of(leak.second) ? same : other).push_back(leak);
  if (!other.empty()) {
    const auto [in_validation, in_train] = other[0];
    remarks.push_back(
        {Severity::warning, validation.name,
         fmt::format("{} also in the training data under another class; the first: {} ({}) = {} "
                     "({})",
                     counted(std::ssize(other), "sample is", "samples are"),
                     validation.place(in_validation), validation.class_of(in_validation),
                     train.source->where(in_train), train.class_of(in_train)),
         "one of the two labels is wrong; --json has all"});
  }
  if (!same.empty())
    remarks.push_back(
        {Severity::warning, validation.name,
         fmt::format("{} also in the training data; the first: {} = {}",
                     counted(std::ssize(same), "sample is", "samples are"),
                     validation.place(same[0].first), train.source->where(same[0].second)),
         "val_accuracy would be too good; take them out of one set"});
}

}  // namespace plimsoll::job
