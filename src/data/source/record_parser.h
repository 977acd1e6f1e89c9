// One record of a TFRecord file as a sample: its image, and its class or its boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/annotations.h"
#include "data/source/example.h"
#include "data/source/label_map.h"
#include "data/source/record_labels.h"
#include "data/source/source_options.h"

namespace plimsoll {

struct RecordSample {
  std::span<const std::byte> image;   // within the record
  std::optional<std::int32_t> label;  // until RecordParser::settle; nothing: it has boxes
  std::span<const Box> boxes;         // until the next record
  Size size;  // the frame of the boxes; zeros where there is neither box nor size
};

// A fraction of a side of so many pixels, in pixels. One that differs from a whole pixel's fraction
// by no more than rounding to f32 does, is that pixel: so the same boxes come from records as from
// files that hold pixels.
float pixels_of(float fraction, std::int64_t side);

// Reads one record after the other. What keys mean is settled by the first that has an image and a
// class.
class RecordParser {
 public:
  // `map` and `class_names` as RecordLabels has them; both may be empty.
  RecordParser(RecordKeys asked, LabelMap map, std::vector<std::string> class_names);

  // Corners become pixels by image/height and image/width, else by the header of the image.
  // DataError, with `where` as its place, on what is no Example, lacks the image or the class, has
  // lists of boxes that do not fit together, or boxes and no size.
  RecordSample parse(std::span<const std::byte> record, const std::string& where);

  // Gives every label its final number and returns the names in that order. To be called once,
  // after at least one sample.
  std::vector<std::string> settle(Annotations& annotations);
  // What was noticed on the way, for people.
  std::vector<std::string> notes() const { return labels_->notes(); }

 private:
  // What the records call things: as asked, else as the first one has it.
  struct Keys {
    std::string image;
    std::string label;
    std::string name;    // the class's name beside its number; may be empty
    std::string object;  // of boxes; empty: samples have one label each
  };

  void choose_keys();
  // What a settled key leads to. An empty one is no key, though a record may have a feature of that
  // name.
  const Feature* find(const std::string& key) const;
  std::span<const std::byte> image_of(const std::string& where) const;
  std::int32_t label_of(const std::string& where);
  void read_boxes(RecordSample& sample, const std::string& where);
  std::vector<float> floats(std::string_view key) const;
  std::vector<std::int64_t> ints(std::string_view key) const;
  std::int64_t first_int(std::string_view key) const;

  RecordKeys asked_;
  LabelMap map_;
  std::vector<std::string> class_names_;
  std::optional<RecordLabels> labels_;  // since the keys are settled
  Keys keys_;
  Example example_;
  std::vector<Box> boxes_;
};

}  // namespace plimsoll
