#include "data/scan/scan_part.h"

#include "base/packed.h"
#include "data/scan/scanner.h"

namespace plimsoll {
namespace {

enum class Kind : std::uint8_t { part, failure };

void put(Packer& packer, const Finding& finding) {
  packer.put(finding.count);
  packer.put_all(std::span(finding.samples));
}

void put(Packer& packer, const std::map<std::string, std::int64_t>& counts) {
  packer.put(static_cast<std::uint64_t>(counts.size()));
  for (const auto& [name, count] : counts) {
    packer.put_text(name);
    packer.put(count);
  }
}

// Reads a part and holds every number in it to the range it is of.
class PartReader {
 public:
  PartReader(Unpacker& from, const ScanRange& range) : from_(from), range_(range) {}

  std::int64_t count() {
    const auto value = from_.take<std::int64_t>();
    if (value < 0) from_.fail("a count below zero");
    return value;
  }
  std::int64_t sample() {
    const auto value = from_.take<std::int64_t>();
    check(value);
    return value;
  }
  Size size() {
    const std::int64_t height = count();
    return {height, count()};
  }
  Finding finding() {
    Finding found;
    found.count = count();
    from_.take_all(found.samples);
    for (const std::int64_t value : found.samples) check(value);
    return found;
  }
  std::map<std::string, std::int64_t> counts() {
    std::map<std::string, std::int64_t> all;
    // Each takes some bytes of those that are there, so a number that lies ends soon.
    for (auto left = from_.take<std::uint64_t>(); left > 0; --left) {
      const std::string name(from_.take_text());
      all[name] = count();
    }
    return all;
  }

 private:
  void check(std::int64_t value) const {
    if (value < range_.begin || value >= range_.end)
      from_.fail("a sample that is not of its share");
  }

  Unpacker& from_;
  const ScanRange& range_;
};

}  // namespace

ScanRange range_of_share(std::int64_t samples, int share, int shares) {
  return {samples * share / shares, samples * (share + 1) / shares};
}

std::string pack_failure(const Complaint& complaint) {
  Packer packer;
  packer.put(Kind::failure);
  packer.put_complaint(complaint);
  return packer.bytes();
}

std::string pack_part(const ScanReport& part, const ScanRange& range) {
  Packer packer;
  packer.put(Kind::part);
  packer.put(part.samples);
  packer.put(static_cast<std::uint64_t>(part.bad.size()));
  for (const BadSample& bad : part.bad) {
    packer.put(bad.sample);
    packer.put_complaint(bad.complaint);
    packer.put(static_cast<std::uint8_t>(bad.does_not_fit));
  }
  put(packer, part.formats);
  put(packer, part.sizes);
  for (Finding ScanReport::*finding : kFindings) put(packer, part.*finding);
  packer.put(static_cast<std::uint64_t>(part.oddities.size()));
  for (const auto& [words, finding] : part.oddities) {
    packer.put_text(words);
    put(packer, finding);
  }
  packer.put(part.coloured);
  for (const Size& size : {part.smallest, part.mean, part.largest.size}) packer.put(size);
  packer.put(part.largest.decode.count);
  packer.put(static_cast<std::uint64_t>(part.biggest.size()));
  for (const auto& [sample, size] : part.biggest) {
    packer.put(sample);
    packer.put(size);
  }
  packer.put_all(
      std::span(part.contents)
          .subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size())));
  return packer.bytes();
}

void merge_packed(std::string_view bytes, const ScanRange& range, const std::string& where,
                  ScanReport& whole) {
  Unpacker unpacker(bytes, where);
  const Kind kind = unpacker.take<Kind>();
  if (kind == Kind::failure) {
    Complaint complaint = unpacker.take_complaint();
    unpacker.end();
    throw DataError(std::move(complaint));
  }
  if (kind != Kind::part) unpacker.fail("a part of another version");
  PartReader reader(unpacker, range);
  ScanReport part;
  part.samples = reader.count();
  if (part.samples > range.size()) unpacker.fail("more samples than its share has");
  for (auto left = unpacker.take<std::uint64_t>(); left > 0; --left) {
    BadSample bad{.sample = reader.sample(), .complaint = unpacker.take_complaint()};
    bad.does_not_fit = unpacker.take<std::uint8_t>() != 0;
    part.bad.push_back(std::move(bad));
  }
  part.formats = reader.counts();
  part.sizes = reader.counts();
  for (Finding ScanReport::*finding : kFindings) part.*finding = reader.finding();
  for (auto left = unpacker.take<std::uint64_t>(); left > 0; --left) {
    const std::string words(unpacker.take_text());
    part.oddities[words] = reader.finding();
  }
  part.coloured = reader.count();
  for (Size* size : {&part.smallest, &part.mean, &part.largest.size}) *size = reader.size();
  part.largest.decode = Bytes{reader.count()};
  for (auto left = unpacker.take<std::uint64_t>(); left > 0; --left) {
    const std::int64_t sample = reader.sample();
    part.biggest.emplace_back(sample, reader.size());
  }
  std::vector<std::uint64_t> contents;
  unpacker.take_all(contents);
  if (std::ssize(contents) != range.size()) unpacker.fail("contents of other samples");
  unpacker.end();
  merge(part, whole);
  std::ranges::copy(contents, whole.contents.begin() + range.begin);
}

}  // namespace plimsoll
