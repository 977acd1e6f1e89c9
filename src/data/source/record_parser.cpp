#include "data/source/record_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "data/codec/decode.h"
#include "format/protobuf.h"

namespace plimsoll {
namespace {

// The first of the keys that the record has; empty if it has none.
std::string first_present(const Example& example, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (example.find(key) != nullptr) return std::string(key);
  return {};
}

std::string class_text(std::optional<std::int64_t> number, std::string_view name) {
  return number ? std::to_string(*number) : "'" + std::string(name) + "'";
}

// Where the record does not tell the picture's size: as its header has it.
Size stored_size(std::span<const std::byte> image, const std::string& where) {
  try {
    const ImageInfo info = probe_image(image, where);
    return {.height = info.stored_height, .width = info.stored_width};
  } catch (const DataError& error) {
    throw DataError(
        {.where = where,
         .got = "boxes as fractions, and no image/height and image/width; " + error.complaint().got,
         .expected = "expected the picture's size, or a picture that tells it"});
  }
}

}  // namespace

float pixels_of(float fraction, std::int64_t side) {
  const double exact = static_cast<double>(fraction) * static_cast<double>(side);
  const double whole = std::round(exact);
  const float size = std::abs(fraction);
  const double rounding =
      static_cast<double>(std::nextafter(size, std::numeric_limits<float>::infinity())) -
      static_cast<double>(size);
  const bool is_whole = std::abs(exact - whole) <= rounding * static_cast<double>(side);
  return to_corner(is_whole ? whole : exact);
}

RecordParser::RecordParser(RecordKeys asked, LabelMap map, std::vector<std::string> class_names)
    : asked_(std::move(asked)), map_(std::move(map)), class_names_(std::move(class_names)) {}

void RecordParser::choose_keys() {
  keys_ = {.image = asked_.image, .label = asked_.label, .object = asked_.boxes};
  if (keys_.image.empty()) keys_.image = first_present(example_, {"image/encoded", "image"});
  if (keys_.label.empty() && keys_.object.empty()) {
    keys_.label = first_present(example_, {"image/class/label", "label", "image/class/text"});
    if (keys_.label.empty() &&
        !first_present(example_, {"image/object/bbox/xmin", "image/object/class/label"}).empty())
      keys_.object = "image/object";
  }
  if (keys_.object.ends_with('/')) keys_.object.pop_back();
  if (keys_.label == "image/class/label") keys_.name = "image/class/text";
  const bool has_class = !keys_.label.empty() || !keys_.object.empty();
  if (keys_.image.empty() || !has_class) return;  // a record that settles nothing
  labels_.emplace(std::move(map_), std::move(class_names_),
                  asked_.first_label.value_or(keys_.object.empty() ? 0 : 1));
}

RecordSample RecordParser::parse(std::span<const std::byte> record, const std::string& where) {
  example_.parse(record);
  if (example_.is_sequence())
    throw DataError({.where = where,
                     .got = "a SequenceExample, a record of a series of frames",
                     .expected = "expected an Example with one image",
                     .hint = "write each frame as an Example of its own with image/encoded and "
                             "image/class/label, or with image/object/bbox for boxes"});
  if (!labels_) choose_keys();
  RecordSample sample{.image = image_of(where)};
  if (keys_.object.empty()) {
    sample.label = label_of(where);
    return sample;
  }
  read_boxes(sample, where);
  return sample;
}

const Feature* RecordParser::find(const std::string& key) const {
  return key.empty() ? nullptr : example_.find(key);
}

std::span<const std::byte> RecordParser::image_of(const std::string& where) const {
  const Feature* image = find(keys_.image);
  const auto bytes = image == nullptr ? std::nullopt : image->first_bytes();
  if (!bytes)
    throw DataError({.where = where,
                     .got = (keys_.image.empty() ? "no image/encoded and no image"
                                                 : "no bytes under '" + keys_.image + "'") +
                            std::string("; the keys are ") + example_.describe(),
                     .expected = "expected the encoded image",
                     .hint = "say which key holds it with --record-image KEY"});
  return *bytes;
}

std::int32_t RecordParser::label_of(const std::string& where) {
  const Feature* feature = find(keys_.label);
  const auto number = feature == nullptr ? std::nullopt : feature->first_int();
  const auto bytes = feature == nullptr ? std::nullopt : feature->first_bytes();
  if (!number && !bytes)
    throw DataError({.where = where,
                     .got = (keys_.label.empty() ? "no image/class/label and no label"
                                                 : "no value under '" + keys_.label + "'") +
                            std::string("; the keys are ") + example_.describe(),
                     .expected = "expected the class, as int64 or as its name",
                     .hint = "say which key holds it with --record-label KEY"});
  std::string_view name;
  if (!number) {
    name = as_text(*bytes);
  } else if (const Feature* beside = find(keys_.name)) {
    if (const auto text = beside->first_bytes()) name = as_text(*text);
  }
  const auto label = number ? labels_->find(*number, name) : labels_->find(name);
  if (!label)
    throw DataError({.where = where,
                     .got = "class " + class_text(number, name),
                     .expected = labels_->expected()});
  return *label;
}

std::vector<float> RecordParser::floats(std::string_view key) const {
  const Feature* feature = example_.find(keys_.object + std::string(key));
  return feature == nullptr ? std::vector<float>() : feature->float_values();
}

std::vector<std::int64_t> RecordParser::ints(std::string_view key) const {
  const Feature* feature = example_.find(keys_.object + std::string(key));
  return feature == nullptr ? std::vector<std::int64_t>() : feature->int_values();
}

std::int64_t RecordParser::first_int(std::string_view key) const {
  const Feature* feature = example_.find(key);
  return feature == nullptr ? 0 : feature->first_int().value_or(0);
}

void RecordParser::read_boxes(RecordSample& sample, const std::string& where) {
  const std::array<std::vector<float>, 4> corners{floats("/bbox/xmin"), floats("/bbox/ymin"),
                                                  floats("/bbox/xmax"), floats("/bbox/ymax")};
  const std::vector<float> areas = floats("/area");
  const std::vector<std::int64_t> numbers = ints("/class/label");
  const std::vector<std::int64_t> difficult = ints("/difficult");
  const std::vector<std::int64_t> crowd = ints("/is_crowd");
  const Feature* text = example_.find(keys_.object + "/class/text");
  const auto names =
      text == nullptr ? std::vector<std::span<const std::byte>>() : text->bytes_values();
  const std::size_t count = corners[0].size();
  const std::size_t classes = numbers.empty() ? names.size() : numbers.size();
  if (classes != count || std::ranges::any_of(corners, [&](auto& c) { return c.size() != count; }))
    throw DataError({.where = where,
                     .got = "lists of " + std::to_string(count) + ", " +
                            std::to_string(corners[1].size()) + ", " +
                            std::to_string(corners[2].size()) + ", " +
                            std::to_string(corners[3].size()) + " corners and " +
                            std::to_string(classes) + " classes",
                     .expected = "expected as many of each under " + keys_.object});
  // What a record need not have is there for every box or for none.
  const auto check_length = [&](std::string_view key, std::size_t length) {
    if (length != 0 && length != count)
      throw DataError({.where = where,
                       .got = std::to_string(length) + " values under " + keys_.object +
                              std::string(key) + " for " + std::to_string(count) + " boxes",
                       .expected = "expected one for each"});
  };
  check_length("/class/text", names.size());
  check_length("/area", areas.size());
  check_length("/difficult", difficult.size());
  check_length("/is_crowd", crowd.size());
  boxes_.clear();
  sample.size = {.height = first_int("image/height"), .width = first_int("image/width")};
  if (count > 0 && !is_frame(sample.size)) sample.size = stored_size(sample.image, where);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = numbers.empty() ? std::nullopt : std::optional(numbers[i]);
    const std::string_view name = names.empty() ? std::string_view() : as_text(names[i]);
    const auto label = number ? labels_->find(*number, name) : labels_->find(name);
    if (!label)
      throw DataError({.where = where,
                       .got = "a box of class " + class_text(number, name),
                       .expected = labels_->expected()});
    Box box{.x0 = pixels_of(corners[0][i], sample.size.width),
            .y0 = pixels_of(corners[1][i], sample.size.height),
            .x1 = pixels_of(corners[2][i], sample.size.width),
            .y1 = pixels_of(corners[3][i], sample.size.height),
            .label = *label,
            .difficult = !difficult.empty() && difficult[i] != 0,
            .crowd = !crowd.empty() && crowd[i] != 0};
    box.area = areas.empty() ? area_of(box) : areas[i];
    boxes_.push_back(box);
  }
  sample.boxes = boxes_;
}

std::vector<std::string> RecordParser::settle(Annotations& annotations) {
  return labels_->settle(annotations);
}

}  // namespace plimsoll
