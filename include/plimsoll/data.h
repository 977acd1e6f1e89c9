// What is trained on.
#pragma once

#include <string>

namespace plimsoll::v1 {

struct Data {
  // A folder with a sub-folder per class, TFRecord files, a CSV, or "fashion-mnist".
  std::string path;
  std::string validation;           // data of its own to validate on after every epoch
  double validation_share = 0;      // or this share of the training data
  std::string part;                 // of a set in parts: train, val, test
  std::string augment;              // "horizontal_flip,random_resized_crop=0.35:1"
  std::string resize = "bilinear";  // nearest, bicubic, area; with -antialias
  std::string normalise = "tf";     // caffe, torch, slim, scale, none
  bool skips_bad_files = false;     // else one that cannot be read is a DataError
};

}  // namespace plimsoll::v1
