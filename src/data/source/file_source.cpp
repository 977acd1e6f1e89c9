#include "data/source/file_source.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/held.h"
#include "data/codec/decode.h"

namespace plimsoll {

void NameList::add(std::string_view name) {
  if (blocks_.empty() || blocks_.back().size() + name.size() + 1 > blocks_.back().capacity())
    blocks_.emplace_back().reserve(std::max(kBlock - 1, name.size() + 1));
  std::string& block = blocks_.back();
  places_.push_back({.block = static_cast<std::uint32_t>(blocks_.size() - 1),
                     .begin = static_cast<std::uint32_t>(block.size())});
  block.append(name).push_back('\0');
}

std::string_view NameList::operator[](std::int64_t i) const {
  const Place& place = places_[static_cast<std::size_t>(i)];
  return blocks_[place.block].c_str() + place.begin;
}

void NameList::settle() {
  if (!blocks_.empty()) blocks_.back().shrink_to_fit();
  blocks_.shrink_to_fit();
  places_.shrink_to_fit();
}

Bytes NameList::memory() const { return held(blocks_) + held(places_); }

FileSource::FileSource(std::string kind, std::filesystem::path root) : root_(root.string()) {
  index_.kind = std::move(kind);
}

void FileSource::add_name(std::string_view relative_path, Bytes size) {
  names_.add(relative_path);
  index_.encoded += size;
  index_.largest_encoded = std::max(index_.largest_encoded, size);
}

void FileSource::add(std::string_view relative_path, Bytes size, std::int32_t label) {
  add_name(relative_path, size);
  annotations_.add_label(label);
}

void FileSource::add(std::string_view relative_path, Bytes size,
                     std::span<const std::int32_t> labels) {
  add_name(relative_path, size);
  annotations_.add_labels(labels);
}

void FileSource::add(std::string_view relative_path, Bytes size, std::span<const float> numbers) {
  add_name(relative_path, size);
  annotations_.add_numbers(numbers);
}

void FileSource::add(std::string_view relative_path, Bytes size, std::span<const Box> boxes,
                     Size picture) {
  add_name(relative_path, size);
  annotations_.add_boxes(boxes, picture);
}

void FileSource::add_defect(Complaint complaint) {
  if (defects_.size() < kMostDefects) defects_.push_back(std::move(complaint));
}

void FileSource::add_note(std::string note) { index_.notes.push_back(std::move(note)); }

void FileSource::add_ids(std::vector<std::int64_t> images, std::vector<std::int64_t> classes) {
  image_ids_ = std::move(images);
  class_ids_ = std::move(classes);
  image_ids_.shrink_to_fit();
}

void FileSource::finish(std::vector<std::string> class_names) {
  class_names_ = std::move(class_names);
  names_.settle();
  index_.files = names_.size();
  index_.memory += names_.memory() + held(image_ids_) + held(class_ids_);
  finish_index();
}

std::string FileSource::path(std::int64_t i) const {
  const std::string_view name = names_[i];
  if (name.starts_with('/') || root_.empty()) return std::string(name);
  return root_ + (root_.ends_with('/') ? "" : "/") + std::string(name);
}

Encoded FileSource::read(std::int64_t i, MappedBytes& buffer) const {
  const InputFile file = open_input(path(i));
  if (file.size > index_.largest_encoded)
    throw DataError({.where = file.path.string(),
                     .got = "the file has " + to_string(file.size),
                     .expected = "expected at most " + to_string(index_.largest_encoded) +
                                 ", the largest when the data was listed",
                     .hint = "it was changed during the run"});
  buffer.resize(static_cast<std::size_t>(file.size.count));
  file.read_at(0, buffer);
  return {.bytes = buffer};
}

Size stored_size(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, 1_GiB);
  const ImageInfo info = probe_image(std::as_bytes(std::span(bytes)), path.string());
  return {.height = info.stored_height, .width = info.stored_width};
}

}  // namespace plimsoll
