// How a data set is to be read, beside its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

// Keys of a tf.train.Example. An empty one is found in the first record: TensorFlow's own
// (image/encoded, image/class/label), the Object Detection API's (image/object/...), TFDS's (image,
// label).
struct RecordKeys {
  std::string image;
  std::string label;  // int64, or the class's name as bytes
  std::string boxes;  // what stands before /bbox/xmin and /class/label: "image/object"
  // The number of the first class: labels are counted from it. Without it 0, and 1 for boxes, as
  // the Object Detection API counts.
  std::optional<std::int64_t> first_label;
};

// What a folder or a list is to be taken for where its looks allow both.
enum class Reading {
  found,    // by its looks; DataError with both readings where they do not tell
  classes,  // sub-folders are classes; rows of a list are path,label
  labels,   // rows of a list are path,label,label,...: any number of classes
  numbers,  // rows of a list are path,number,...
  boxes,    // XML files and rows of a list are boxes
};

struct SourceOptions {
  // The training set's class names, where another set is to be read by the same numbers. Empty: the
  // data's own.
  std::vector<std::string> class_names = {};
  // Which part of a set that is published in parts: "train", "val", "test"; of VOC, any of its
  // lists ("trainval"). Empty: all of VOC, of others the first of preferred_parts that is there.
  std::string part = {};
  std::vector<std::string> preferred_parts = {"train", "val", "test"};
  bool whole_voc = true;  // false: VOC too is read by the first of them that it has a list of
  Reading reading = Reading::found;
  std::filesystem::path cache = {};      // where compressed shards are unpacked
  std::filesystem::path images = {};     // COCO, CSV: the folder of the pictures
  std::filesystem::path label_map = {};  // TFRecord: .pbtxt, or a text file with a name per line
  RecordKeys keys = {};
  // Told now and then how much of a long listing is done, in bytes.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

}  // namespace plimsoll
