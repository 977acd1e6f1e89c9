#include "data/source/parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kParts = {"train", "val", "test"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {
    {{"train", "train"},
     {"training", "train"},
     {"val", "val"},
     {"valid", "val"},
     {"validation", "val"},
     {"dev", "val"},
     {"test", "test"},
     {"testing", "test"}}};

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// "train, val and test".
std::string enumerate(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return join(parts, "");
  return join(std::span(parts).first(parts.size() - 1), ", ") + " and " + parts.back();
}

// All of a source, under the name of its part.
class NamedPart final : public Source {
 public:
  NamedPart(SourcePtr whole, const PartChoice& choice)
      : whole_(std::move(whole)), index_(whole_->index()) {
    index_.part = choice.part;
    index_.parts = choice.parts;
    if (choice.part.empty()) return;
    std::string note = choice.parts.size() == 1
                           ? "the only part is " + choice.part
                           : "of the parts " + enumerate(choice.parts) + " this is " + choice.part +
                                 " (--part chooses)";
    if (!choice.others.empty()) note += "; of no part: " + join(choice.others, ", ");
    index_.notes.insert(index_.notes.begin(), std::move(note));
  }

  std::int64_t size() const override { return whole_->size(); }
  const std::vector<std::string>& class_names() const override { return whole_->class_names(); }
  bool has_boxes() const override { return whole_->has_boxes(); }
  TargetKind target_kind() const override { return whole_->target_kind(); }
  std::span<const std::int32_t> labels(std::int64_t i) const override { return whole_->labels(i); }
  std::span<const float> numbers(std::int64_t i) const override { return whole_->numbers(i); }
  std::int32_t label(std::int64_t i) const override { return whole_->label(i); }
  std::span<const Box> boxes(std::int64_t i) const override { return whole_->boxes(i); }
  Size annotated_size(std::int64_t i) const override { return whole_->annotated_size(i); }
  std::int64_t number(std::int64_t i) const override { return whole_->number(i); }
  std::string where(std::int64_t i) const override { return whole_->where(i); }
  std::string path(std::int64_t i) const override { return whole_->path(i); }
  Encoded read(std::int64_t i, MappedBytes& buffer) const override {
    return whole_->read(i, buffer);
  }
  const Index& index() const override { return index_; }
  const std::vector<Complaint>& defects() const override { return whole_->defects(); }

 private:
  SourcePtr whole_;
  Index index_;
};

}  // namespace

std::string part_of(std::string_view name) {
  const std::string small = to_lower(name);
  std::string found;
  for (std::size_t at = 0; at < small.size();) {
    std::size_t end = at;
    while (end < small.size() && is_letter(small[end])) ++end;
    const std::string_view word = std::string_view(small).substr(at, end - at);
    for (const auto& [said, part] : kWords)
      if (word == said) {
        if (!found.empty() && found != part) return {};
        found = part;
      }
    at = end + 1;
  }
  return found;
}

PartChoice choose_part(const std::vector<std::filesystem::path>& from, const SourceOptions& options,
                       std::string_view where) {
  const auto has = [&](std::string_view part) {
    return std::ranges::any_of(
        from, [&](const auto& path) { return part_of(path.filename().string()) == part; });
  };
  PartChoice choice;
  for (const std::string_view part : kParts)
    if (has(part)) choice.parts.emplace_back(part);
  if (!options.part.empty()) {
    choice.part = part_of(options.part);
    if (choice.part.empty() || !has(choice.part)) throw no_such_part(options, where, choice.parts);
  } else if (choice.parts.size() > 1) {
    for (const std::string& part : options.preferred_parts)
      if (choice.part.empty() && has(part)) choice.part = part;
  }
  for (const std::filesystem::path& path : from) {
    const std::string part = part_of(path.filename().string());
    if (choice.part.empty() || part == choice.part)
      choice.chosen.push_back(path);
    else if (part.empty())
      choice.others.push_back(path.filename().string());
  }
  return choice;
}

UsageError no_such_part(const SourceOptions& options, std::string_view where,
                        const std::vector<std::string>& parts) {
  return UsageError(
      {.where = "--part " + options.part,
       .got = parts.empty() ? std::string(where) + " is not in parts"
                            : std::string(where) + " has the parts " + enumerate(parts),
       .expected = parts.empty() ? "expected folders or files named train, val or test"
                                 : "expected one of them",
       .hint = parts.empty() ? "without --part all of it is read" : ""});
}

SourcePtr name_part(SourcePtr source, const PartChoice& choice) {
  if (choice.parts.empty()) return source;
  return std::make_shared<NamedPart>(std::move(source), choice);
}

}  // namespace plimsoll
