#include "cli/data_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace plimsoll::cli {

using job::counted;
using job::ScannedData;

namespace {

constexpr std::size_t kMostClassesShown = 40;
constexpr std::size_t kMostGroupsShown = 10;

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
      members.push_back({{"where", data.source->where(i)}, {"class", data.class_of(i)}});
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
    const std::string here = validation.class_of(in_validation);
    const std::string there = train.class_of(in_train);
    leaks.push_back({{"where", validation.source->where(in_validation)},
                     {"class", here},
                     {"train", train.source->where(in_train)},
                     {"train_class", there},
                     {"other_class", here != there}});
  }
  return leaks;
}

}  // namespace plimsoll::cli
