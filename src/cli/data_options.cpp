#include "cli/data_options.h"

namespace plimsoll::cli {

void DataOptions::add_to(CLI::App& command) {
  command.add_option("--part", part, "part of a published set: train, val, test, trainval");
  command.add_option("--cache", cache, "folder to unpack compressed TFRecord files into, once");
  command.add_option("--images", images, "COCO: folder of the pictures");
  command.add_option("--label-map", label_map, "TFRecord: names of classes (.pbtxt, or a list)");
  command.add_option("--record-image", record_image, "TFRecord: key of the encoded image");
  command.add_option("--record-label", record_label, "TFRecord: key of the class");
  command.add_option("--record-boxes", record_boxes,
                     "TFRecord: what stands before /bbox/xmin and /class/label");
  command.add_option("--first-label", first_label,
                     "TFRecord: number of the first class (default 0, with boxes 1)");
}

SourceOptions DataOptions::source_options() const {
  return {.part = part,
          .cache = cache,
          .images = images,
          .label_map = label_map,
          .keys = {.image = record_image,
                   .label = record_label,
                   .boxes = record_boxes,
                   .first_label = first_label}};
}

}  // namespace plimsoll::cli
