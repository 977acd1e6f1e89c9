// What a scan finds, and what follows from it.
#include <algorithm>
#include <unordered_map>

#include "base/random.h"
#include "data/scan/scanner.h"

namespace plimsoll {

void Finding::add(std::int64_t sample) {
  ++count;
  samples.push_back(sample);
}

void Finding::merge(const Finding& other) {
  count += other.count;
  samples.insert(samples.end(), other.samples.begin(), other.samples.end());
  settle();
}

void Finding::settle() {
  std::ranges::sort(samples);
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  if (samples.size() > kExamples) samples.resize(kExamples);
}

void merge(const ScanReport& part, ScanReport& whole) {
  whole.samples += part.samples;
  whole.bad.insert(whole.bad.end(), part.bad.begin(), part.bad.end());
  for (const auto& [format, count] : part.formats) whole.formats[format] += count;
  for (const auto& [size, count] : part.sizes) whole.sizes[size] += count;
  for (Finding ScanReport::*finding : kFindings) (whole.*finding).merge(part.*finding);
  for (const auto& [words, finding] : part.oddities) whole.oddities[words].merge(finding);
  whole.coloured += part.coloured;
  whole.biggest.insert(whole.biggest.end(), part.biggest.begin(), part.biggest.end());
  whole.largest = largest_of(whole.largest, part.largest);
  // Of none there is no smallest.
  if (whole.smallest.height == 0)
    whole.smallest = part.smallest;
  else if (part.smallest.height > 0)
    whole.smallest = {std::min(whole.smallest.height, part.smallest.height),
                      std::min(whole.smallest.width, part.smallest.width)};
  whole.mean.height += part.mean.height;
  whole.mean.width += part.mean.width;
}

std::uint64_t content_of(const ScanReport& report) {
  std::uint64_t hash = 0;
  for (std::uint64_t content : report.contents)
    if (content != 0) hash = splitmix64(hash ^ content);
  return hash;
}

std::vector<std::pair<std::int64_t, std::int64_t>> find_leaks(const ScanReport& train,
                                                              const ScanReport& validation) {
  std::unordered_map<std::uint64_t, std::int64_t> first;
  for (std::size_t i = 0; i < train.contents.size(); ++i)
    if (train.contents[i] != 0) first.try_emplace(train.contents[i], static_cast<std::int64_t>(i));
  std::vector<std::pair<std::int64_t, std::int64_t>> leaks;
  for (std::size_t i = 0; i < validation.contents.size(); ++i)
    if (const auto found = first.find(validation.contents[i]); found != first.end())
      leaks.emplace_back(static_cast<std::int64_t>(i), found->second);
  return leaks;
}

SourcePtr without_bad(const SourcePtr& source, const ScanReport& report) {
  if (report.bad.empty()) return source;
  if (std::ssize(report.bad) == source->size())
    throw DataError({.where = report.bad[0].complaint.where,
                     .got = "not one of the " + std::to_string(source->size()) +
                            " samples can be read; this one: " + report.bad[0].complaint.got,
                     .expected = "expected at least one"});
  std::vector<std::uint32_t> good;
  auto bad = report.bad.begin();
  for (std::int64_t i = 0; i < source->size(); ++i)
    if (bad != report.bad.end() && bad->sample == i)
      ++bad;
    else
      good.push_back(static_cast<std::uint32_t>(i));
  return make_subset(source, std::move(good));
}

std::string bad_files_text(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const Complaint& complaint : complaints)
    text += complaint.where + ": " + complaint.got +
            (complaint.expected.empty() ? "" : "; " + complaint.expected) + "\n";
  return text;
}

}  // namespace plimsoll
