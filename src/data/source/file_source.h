// Samples that are files of their own: a folder per class, lists, VOC, COCO.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/annotations.h"

namespace plimsoll {

// Names packed into blocks: the text itself, a byte that ends it and 8 bytes of index for each.
// Blocks are never copied: growing holds no more than what is there.
class NameList {
 public:
  void add(std::string_view name);
  std::string_view operator[](std::int64_t i) const;
  std::int64_t size() const { return std::ssize(places_); }
  void settle();
  Bytes memory() const;

 private:
  struct Place {
    std::uint32_t block, begin;
  };
  static constexpr std::size_t kBlock = 64 * 1024;

  std::vector<std::string> blocks_;
  std::vector<Place> places_;
};

// Filled by add(), then finish()ed, then immutable. An image's path is kept relative to `root`.
class FileSource final : public ListedSource {
 public:
  FileSource(std::string kind, std::filesystem::path root);

  // `size`: bytes of the file as it is now.
  void add(std::string_view relative_path, Bytes size, std::int32_t label);
  void add(std::string_view relative_path, Bytes size, std::span<const std::int32_t> labels);
  void add(std::string_view relative_path, Bytes size, std::span<const float> numbers);
  void add(std::string_view relative_path, Bytes size, std::span<const Box> boxes, Size picture);
  void add_defect(Complaint complaint);
  void add_note(std::string note);
  // What a lister holds beside the source at this moment.
  void note_opening(Bytes held) { index_.opening = std::max(index_.opening, held); }
  // Replaces every label l by to[l].
  void relabel(std::span<const std::int32_t> to) { annotations_.relabel(to); }
  // Ids that a COCO file has for its images, one for each that was added, and for its classes.
  void add_ids(std::vector<std::int64_t> images, std::vector<std::int64_t> classes);
  void finish(std::vector<std::string> class_names);

  // Empty where the data has none.
  std::span<const std::int64_t> image_ids() const { return image_ids_; }
  std::span<const std::int64_t> class_ids() const { return class_ids_; }

  std::string where(std::int64_t i) const override { return path(i); }
  std::string path(std::int64_t i) const override;
  Encoded read(std::int64_t i, MappedBytes& buffer) const override;

 private:
  void add_name(std::string_view relative_path, Bytes size);

  std::string root_;
  NameList names_;
  std::vector<std::int64_t> image_ids_, class_ids_;
};

// Width and height of an image file's rows as it stores them. DataError if it has no such header.
Size stored_size(const std::filesystem::path& path);

}  // namespace plimsoll
