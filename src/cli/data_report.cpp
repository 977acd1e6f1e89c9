#include "cli/data_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace plimsoll::cli {
namespace {

constexpr double kImbalance = 10;
constexpr std::size_t kMostClassesShown = 40;
constexpr std::size_t kMostGroupsShown = 10;

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

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

void add_finding(const ScannedData& data, const Finding& finding, Severity severity,
                 std::string_view one, std::string_view many, std::string hint,
                 std::vector<Problem>& problems) {
  if (finding.count == 0) return;
  problems.push_back(
      {severity, data.name,
       counted(finding.count, one, many) + ": " + examples(data, finding.samples, finding.count),
       std::move(hint)});
}

void find_class_problems(const ScannedData& data, std::vector<Problem>& problems) {
  const std::vector<std::string>& names = data.source->class_names();
  const std::vector<std::int64_t>& counts = data.source->index().per_class;
  const bool has_boxes = data.source->has_boxes();
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[i] == 0) empty.push_back("'" + names[i] + "'");
    if (names[i].starts_with('.'))
      problems.push_back({Severity::warning, data.name,
                          "the hidden folder '" + names[i] + "' is a class, as it is for Keras",
                          "remove it if it is not meant"});
  }
  if (!empty.empty()) {
    const std::size_t count = empty.size();
    if (count > 10) empty.resize(10);
    problems.push_back({Severity::warning, data.name,
                        counted(static_cast<std::int64_t>(count), "class has", "classes have") +
                            (has_boxes ? " no boxes: " : " no samples: ") + join(empty, ", ") +
                            (count > 10 ? ", ..." : ""),
                        "their outputs would only learn to be silent"});
  }
  // A detector of one kind of thing is a detector; a classifier of one class is none.
  if (names.size() < 2 && !has_boxes)
    problems.push_back({Severity::warning, data.name, "there is only one class",
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
    problems.push_back({Severity::warning, data.name,
                        fmt::format("classes are uneven: '{}' has {} and '{}' {}", name_of(most),
                                    most, name_of(least), least),
                        has_boxes ? "the rare ones will be found less well"
                                  : "accuracy will say little about the rare ones"});
  }
}

void find_box_problems(const ScannedData& data, std::vector<Problem>& problems) {
  const ScanReport& report = data.report;
  add_finding(data, report.inverted, Severity::warning, "box has its corners exchanged",
              "boxes have their corners exchanged", "left out of training", problems);
  add_finding(data, report.empty, Severity::warning, "box has no area", "boxes have no area",
              "left out of training", problems);
  add_finding(data, report.outside, Severity::warning, "box reaches beyond its picture",
              "boxes reach beyond their pictures", "cut at its edge", problems);
  add_finding(data, report.other_size, Severity::warning,
              "picture has another size than its annotation says",
              "pictures have another size than their annotations say",
              "boxes are placed by the annotation's size; look at the pictures (--pictures DIR)",
              problems);
}

}  // namespace

std::string ScannedData::place(std::int64_t i) const {
  const std::string where = source->where(i);
  const std::string folder = name + (name.ends_with('/') ? "" : "/");
  return where.starts_with(folder) ? where.substr(folder.size()) : where;
}

std::int64_t ScannedData::bad() const {
  return std::ssize(report.bad) + std::ssize(source->defects());
}

void find_problems(const ScannedData& data, std::vector<Problem>& problems) {
  const ScanReport& report = data.report;
  for (const Complaint& defect : data.source->defects()) problems.push_back(to_problem(defect));
  for (const BadSample& bad : report.bad) problems.push_back(to_problem(bad.complaint));
  for (const std::string& note : data.source->index().notes)
    problems.push_back({Severity::note, data.name, note, ""});
  if (!report.is_whole)
    problems.push_back({Severity::warning, data.name, "the scan was stopped before its end", ""});
  find_class_problems(data, problems);
  add_finding(data, report.wrong_extension, Severity::note,
              "file is of another format than its name says",
              "files are of another format than their names say",
              "read all the same: the content decides", problems);
  add_finding(data, report.turned, Severity::note, "photograph is stored turned (EXIF)",
              "photographs are stored turned (EXIF)",
              "turned upright, boxes too; tools that ignore EXIF see them otherwise", problems);
  if (report.duplicates_of_other_class.count > 0)
    add_finding(data, report.duplicates_of_other_class, Severity::warning,
                "sample is in two classes with the same content",
                "samples are in several classes with the same content",
                "decide which class each belongs to", problems);
  if (!report.duplicates.empty()) {
    std::int64_t copies = 0;
    for (const auto& group : report.duplicates) copies += std::ssize(group) - 1;
    const auto& first = report.duplicates[0];
    problems.push_back({Severity::warning, data.name,
                        fmt::format("{} of other samples, in {}; the first: {} = {}",
                                    counted(copies, "sample is a copy", "samples are copies"),
                                    counted(std::ssize(report.duplicates), "group", "groups"),
                                    data.place(first[0]), data.place(first[1])),
                        "they weigh more than others, and leak when the set is split"});
  }
  find_box_problems(data, problems);
}

void find_problems(const ScannedData& train, const ScannedData& validation,
                   std::vector<Problem>& problems) {
  const auto leaks = find_leaks(train.report, validation.report);
  if (leaks.empty()) return;
  problems.push_back(
      {Severity::warning, validation.name,
       fmt::format("{} also in the training data; the first: {} = {}",
                   counted(std::ssize(leaks), "sample is", "samples are"),
                   validation.place(leaks[0].first), train.source->where(leaks[0].second)),
       "val_accuracy would be too good; take them out of one set"});
}

namespace {

void print_sizes(const ScannedData& data) {
  const ScanReport& report = data.report;
  if (report.sizes.empty()) return;
  const auto text = [](Size size) { return fmt::format("{}x{}", size.width, size.height); };
  if (report.smallest == report.largest.size) {
    fmt::print("  sizes        {} all of them (width x height)\n", text(report.smallest));
    return;
  }
  fmt::print("  sizes        {} to {}, {} on average (width x height)\n", text(report.smallest),
             text(report.largest.size), text(report.mean));
  std::vector<std::string> sizes;
  for (const auto& [name, count] : report.sizes)
    sizes.push_back(fmt::format("{} {}", count, name.substr(3)));
  fmt::print("               {}\n", join(sizes, ", "));
  if (report.biggest.empty()) return;
  const auto& [biggest, size] = report.biggest[0];
  fmt::print("  biggest      {} {}\n", text(size), data.place(biggest));
}

}  // namespace

void print_text(const ScannedData& data) {
  const Index& index = data.source->index();
  const ScanReport& report = data.report;
  fmt::print("data {}\n", data.name);
  fmt::print("  kind         {}: {} in {}, {}\n", index.kind,
             counted(index.samples, "sample", "samples"), counted(index.files, "file", "files"),
             to_string(index.encoded));
  std::vector<std::string> formats;
  for (const auto& [format, count] : report.formats)
    formats.push_back(fmt::format("{} {}", count, format));
  if (formats.empty()) formats.emplace_back("nothing readable");
  fmt::print("  formats      {}\n", join(formats, ", "));
  print_sizes(data);
  if (data.source->has_boxes())
    fmt::print("  boxes        {}, at most {} in one picture\n", index.boxes, index.max_boxes);
  const std::vector<std::string>& names = data.source->class_names();
  fmt::print("  classes      {}{}\n", names.size(),
             data.source->has_boxes() ? " (boxes of each)" : "");
  std::size_t widest = 0;
  for (const std::string& name : names)
    widest = std::min<std::size_t>(32, std::max(widest, name.size()));
  // In a long list those without samples would bury the others; the findings count them.
  const bool hide_empty = names.size() > kMostClassesShown / 2;
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((hide_empty && index.per_class[i] == 0) || shown == kMostClassesShown) {
      ++hidden;
      continue;
    }
    ++shown;
    fmt::print("    {:>5}  {:<{}}  {}\n", i, names[i], widest, index.per_class[i]);
  }
  if (hidden > 0) fmt::print("    ... and {} more (--json has all)\n", hidden);
  fmt::print("  read         {:.0f} images/s on {}, all of them in {:.1f} s\n",
             report.images_per_second(), counted(report.workers, "core", "cores"), report.seconds);
}

nlohmann::ordered_json to_json(const ScannedData& data) {
  const Index& index = data.source->index();
  const ScanReport& report = data.report;
  nlohmann::ordered_json classes = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < index.per_class.size(); ++i)
    classes.push_back({{"name", data.source->class_names()[i]}, {"count", index.per_class[i]}});
  nlohmann::ordered_json sizes;
  for (const auto& [name, count] : report.sizes) sizes[name.substr(3)] = count;
  nlohmann::ordered_json biggest = nlohmann::ordered_json::array();
  for (const auto& [i, size] : report.biggest)
    biggest.push_back(
        {{"where", data.source->where(i)}, {"width", size.width}, {"height", size.height}});
  nlohmann::ordered_json duplicates = nlohmann::ordered_json::array();
  for (const auto& group : report.duplicates) {
    if (duplicates.size() == kMostGroupsShown * 100) break;
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const std::int64_t i : group) names.push_back(data.source->where(i));
    duplicates.push_back(names);
  }
  return {{"data", data.name},
          {"kind", index.kind},
          {"samples", index.samples},
          {"good", report.samples - std::ssize(report.bad)},
          {"bad", data.bad()},
          {"files", index.files},
          {"bytes", index.encoded.count},
          {"index_bytes", index.memory.count},
          {"formats", report.formats},
          {"sizes", sizes},
          {"biggest", biggest},
          {"classes", classes},
          {"boxes", index.boxes},
          {"max_boxes", index.max_boxes},
          {"boxes_outside", report.outside.count},
          {"boxes_empty", report.empty.count},
          {"boxes_inverted", report.inverted.count},
          {"turned", report.turned.count},
          {"wrong_extension", report.wrong_extension.count},
          {"duplicates", duplicates},
          {"images_per_second", report.images_per_second()},
          {"cores", report.workers},
          {"seconds", report.seconds}};
}

}  // namespace plimsoll::cli
