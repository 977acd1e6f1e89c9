#include <array>
#include <cmath>
#include <cstdio>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "base/error.h"
#include "base/files.h"
#include "data/source/annotations.h"
#include "data/source/coco.h"

namespace plimsoll {
namespace {

// A file as a stream of characters, 64 KiB at a time.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(const std::filesystem::path& path)
      : file_(open_input(path)), buffer_(std::size_t{64} * 1024) {}

 private:
  int_type underflow() override {
    const std::int64_t left = file_.size.count - position_;
    if (left <= 0) return traits_type::eof();
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(buffer_), left));
    file_.read_at(position_, std::as_writable_bytes(std::span(buffer_).first(size)));
    position_ += static_cast<std::int64_t>(size);
    setg(buffer_.data(), buffer_.data(), buffer_.data() + size);
    return traits_type::to_int_type(buffer_[0]);
  }

  InputFile file_;
  std::int64_t position_ = 0;
  std::vector<char> buffer_;
};

// Takes what is wanted from the events of the parser. The lists that matter are members of the
// outermost object; their elements are objects of which some keys are read, and everything deeper
// is passed over.
class CocoEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  CocoEvents(const std::filesystem::path& path, CocoFile& file) : path_(path), file_(file) {}

  bool null() override { return true; }
  bool boolean(bool value) override { return number(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return integer(
        value > std::numeric_limits<std::int64_t>::max() ? -1 : static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }

  bool string(string_t& value) override {
    if (!is_in_element()) return true;
    if (list_ == List::images && key_ == "file_name")
      image_.file_name = std::move(value);
    else if (list_ == List::categories && key_ == "name")
      category_.name = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == kElement && list_ != List::other) {
      image_ = {};
      box_ = {};
      category_ = {};
      has_id_ = false;
      corners_ = 0;
      area_.reset();
    }
    return true;
  }

  bool key(string_t& value) override {
    if (depth_ == 1)
      list_ = value == "images"        ? List::images
              : value == "annotations" ? List::annotations
              : value == "categories"  ? List::categories
                                       : List::other;
    if (depth_ == 1) seen_list_ = seen_list_ || list_ != List::other;
    if (depth_ == kElement) key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (depth_ == kElement) finish_element();
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ...".
    std::string text = error.what();
    if (const std::size_t at = text.find("syntax error"); at != std::string::npos)
      text = text.substr(at);
    throw DataError({.where = path_.string() + ": byte " + std::to_string(position),
                     .got = text.substr(0, 200),
                     .expected = "expected COCO annotations as JSON",
                     .byte = static_cast<std::int64_t>(position)});
  }

  bool seen_list() const { return seen_list_; }

 private:
  enum class List { other, images, annotations, categories };
  static constexpr int kElement = 3;  // the outermost object, the list, its element

  bool is_in_element() const { return depth_ == kElement; }

  bool integer(std::int64_t value) {
    if (is_in_element()) {
      if (key_ == "id") has_id_ = true;
      if (list_ == List::images) {
        if (key_ == "id") image_.id = value;
        if (key_ == "width") image_.size.width = value;
        if (key_ == "height") image_.size.height = value;
      } else if (list_ == List::annotations) {
        if (key_ == "image_id") box_.image = value;
        if (key_ == "category_id") box_.category = value;
        if (key_ == "iscrowd") box_.crowd = value != 0;
      } else if (list_ == List::categories && key_ == "id") {
        category_.id = value;
      }
    }
    return number(static_cast<double>(value));
  }

  bool number(double value) {
    if (list_ != List::annotations) return true;
    if (is_in_element() && key_ == "area") area_ = value;
    if (depth_ == kElement + 1 && key_ == "bbox") {
      if (std::cmp_less(corners_, bbox_.size())) bbox_[static_cast<std::size_t>(corners_)] = value;
      ++corners_;
    }
    return true;
  }

  CocoBox finish_box() const {
    const auto [x, y, width, height] = bbox_;
    CocoBox box = box_;
    box.x0 = to_corner(x);
    box.y0 = to_corner(y);
    box.x1 = to_corner(x + width);
    box.y1 = to_corner(y + height);
    box.area = to_corner(area_.value_or(width * height));
    return box;
  }

  void finish_element() {
    const auto missing = [&](const char* list, std::size_t number, const char* what) {
      throw DataError(
          {.where = path_.string() + ": " + list + " " + std::to_string(number) + " (from 0)",
           .got = std::string("no ") + what,
           .expected = "expected one"});
    };
    if (list_ == List::images) {
      if (!has_id_) missing("image", file_.images.size(), "id");
      if (image_.file_name.empty()) missing("image", file_.images.size(), "file_name");
      file_.images.push_back(std::move(image_));
    } else if (list_ == List::categories) {
      if (!has_id_) missing("category", file_.categories.size(), "id");
      if (category_.name.empty()) missing("category", file_.categories.size(), "name");
      file_.categories.push_back(std::move(category_));
    } else if (list_ == List::annotations && corners_ == 4) {
      file_.boxes.push_back(finish_box());
    }
    key_.clear();
  }

  const std::filesystem::path& path_;
  CocoFile& file_;
  List list_ = List::other;
  int depth_ = 0;
  std::string key_;
  CocoImage image_;
  CocoBox box_;
  CocoCategory category_;
  bool has_id_ = false;
  int corners_ = 0;
  std::array<double, 4> bbox_{};  // x, y, width, height
  std::optional<double> area_;
  bool seen_list_ = false;
};

}  // namespace

CocoFile read_coco(const std::filesystem::path& path) {
  FileBuffer buffer(path);
  std::istream stream(&buffer);
  // A stream would swallow the reader's exception and look like the end of the file.
  stream.exceptions(std::ios::badbit);
  CocoFile file;
  CocoEvents events(path, file);
  nlohmann::json::sax_parse(stream, &events);
  if (!events.seen_list())
    throw DataError({.where = path.string(),
                     .got = "none of images, annotations, categories in it",
                     .expected = "expected COCO annotations"});
  return file;
}

}  // namespace plimsoll
