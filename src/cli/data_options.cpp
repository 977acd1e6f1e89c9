#include "cli/data_options.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll::cli {

void DataOptions::add_to(CLI::App& command) {
  command.add_option("--part", part, "part of a set in parts: train, val, test; VOC: any list");
  command.add_option("--cache", cache, "folder to unpack compressed TFRecord files into, once");
  command.add_option("--images", images, "COCO, CSV: folder of the pictures");
  command.add_option("--read-as", read_as,
                     "classes or boxes, where a folder or a CSV can be taken for both");
  command.add_option("--label-map", label_map, "TFRecord: names of classes (.pbtxt, or a list)");
  command.add_option("--record-image", record_image, "TFRecord: key of the encoded image");
  command.add_option("--record-label", record_label, "TFRecord: key of the class");
  command.add_option("--record-boxes", record_boxes,
                     "TFRecord: what stands before /bbox/xmin and /class/label");
  command.add_option("--first-label", first_label,
                     "TFRecord: number of the first class (default 0, with boxes 1)");
}

SourceOptions DataOptions::source_options() const {
  if (!read_as.empty() && read_as != "classes" && read_as != "boxes")
    throw UsageError({.where = "--read-as",
                      .got = "'" + read_as + "'",
                      .expected = "expected classes or boxes"});
  return {.part = part,
          .reading = read_as.empty()      ? Reading::found
                     : read_as == "boxes" ? Reading::boxes
                                          : Reading::classes,
          .cache = cache,
          .images = images,
          .label_map = label_map,
          .keys = {.image = record_image,
                   .label = record_label,
                   .boxes = record_boxes,
                   .first_label = first_label}};
}

SourceOptions DataOptions::validation_options(const std::string& data,
                                              const std::string& validation,
                                              const Source& train) const {
  SourceOptions options = source_options();
  options.class_names = train.class_names();
  options.part.clear();
  options.preferred_parts = {"val", "test", "train"};
  // The same VOC folder again would be all of it.
  if (validation == data)
    for (const std::string& candidate : options.preferred_parts)
      if (options.part.empty() && std::ranges::count(train.index().parts, candidate) > 0)
        options.part = candidate;
  return options;
}

std::optional<SourceOptions> DataOptions::own_validation(const std::string& data,
                                                         const Source& train) const {
  const bool has_val =
      train.index().part == "train" && std::ranges::count(train.index().parts, "val") > 0;
  if (!part.empty() || (data != "fashion-mnist" && !has_val)) return std::nullopt;
  return validation_options(data, data, train);
}

}  // namespace plimsoll::cli
