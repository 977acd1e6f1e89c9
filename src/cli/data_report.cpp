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

using Leaks = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The name of a sample's class; empty where it has none.
std::string class_of(const ScannedData& data, std::int64_t i) {
  const std::int32_t label = data.source->label(i);
  return label < 0 ? "" : data.source->class_names()[static_cast<std::size_t>(label)];
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
  add_finding(data, report.turned, Severity::note, "photograph is stored turned (EXIF, XMP)",
              "photographs are stored turned (EXIF, XMP)",
              "turned upright, boxes too; tools that ignore it see them otherwise", problems);
  for (const auto& [words, finding] : report.oddities)
    add_finding(data, finding, Severity::note, "JPEG has " + words, "JPEGs have " + words,
                "read all the same: it changes no pixel", problems);
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
  Leaks same;
  Leaks other;
  for (const auto& leak : find_leaks(train.report, validation.report))
    (class_of(validation, leak.first) == class_of(train, leak.second) ? same : other)
        .push_back(leak);
  if (!other.empty()) {
    const auto [in_validation, in_train] = other[0];
    problems.push_back(
        {Severity::warning, validation.name,
         fmt::format("{} also in the training data under another class; the first: {} ({}) = {} "
                     "({})",
                     counted(std::ssize(other), "sample is", "samples are"),
                     validation.place(in_validation), class_of(validation, in_validation),
                     train.source->where(in_train), class_of(train, in_train)),
         "one of the two labels is wrong; --json has all"});
  }
  if (!same.empty())
    problems.push_back(
        {Severity::warning, validation.name,
         fmt::format("{} also in the training data; the first: {} = {}",
                     counted(std::ssize(same), "sample is", "samples are"),
                     validation.place(same[0].first), train.source->where(same[0].second)),
         "val_accuracy would be too good; take them out of one set"});
}

std::string grey_note(const ModelOptions& model, const ScanReport& report) {
  if (model.channels != 0 || model.input().channels != 1 || report.coloured == 0) return {};
  return fmt::format("{} takes grey pictures, and {} in colour; --channels 3 keeps the colour",
                     model.model, counted(report.coloured, "picture is", "pictures are"));
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
  fmt::print("{} {}{}\n", data.heading, data.name,
             index.part.empty() ? "" : ", part " + index.part);
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
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i < kMostClassesShown)
      fmt::print("    {:>5}  {:<{}}  {}\n", i, names[i], widest, index.per_class[i]);
    else if (index.per_class[i] == 0)
      empty.push_back(names[i]);
  }
  if (names.size() > kMostClassesShown)
    fmt::print("    ... and {} more{} (--json has all)\n", names.size() - kMostClassesShown,
               empty.empty() ? "" : ", of which these are empty: " + join(empty, ", "));
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
  nlohmann::ordered_json conflicts = nlohmann::ordered_json::array();
  for (const auto& group : report.duplicates) {
    nlohmann::ordered_json members = nlohmann::ordered_json::array();
    bool differ = false;
    for (const std::int64_t i : group) {
      differ = differ || data.source->label(i) != data.source->label(group[0]);
      members.push_back({{"where", data.source->where(i)}, {"class", class_of(data, i)}});
    }
    if (differ) conflicts.push_back(members);
  }
  nlohmann::ordered_json oddities = nlohmann::ordered_json::array();
  for (const auto& [words, finding] : report.oddities) {
    nlohmann::ordered_json first = nlohmann::ordered_json::array();
    for (const std::int64_t i : finding.samples) first.push_back(data.source->where(i));
    oddities.push_back({{"what", words}, {"count", finding.count}, {"first", first}});
  }
  return {{"data", data.name},
          {"kind", index.kind},
          {"part", index.part},
          {"parts", index.parts},
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
          {"oddities", oddities},
          {"coloured", report.coloured},
          {"duplicates", duplicates},
          {"duplicates_of_other_class", conflicts},
          {"images_per_second", report.images_per_second()},
          {"cores", report.workers},
          {"seconds", report.seconds}};
}

nlohmann::ordered_json leaks_json(const ScannedData& train, const ScannedData& validation) {
  nlohmann::ordered_json leaks = nlohmann::ordered_json::array();
  for (const auto& [in_validation, in_train] : find_leaks(train.report, validation.report)) {
    const std::string here = class_of(validation, in_validation);
    const std::string there = class_of(train, in_train);
    leaks.push_back({{"where", validation.source->where(in_validation)},
                     {"class", here},
                     {"train", train.source->where(in_train)},
                     {"train_class", there},
                     {"other_class", here != there}});
  }
  return leaks;
}

}  // namespace plimsoll::cli
