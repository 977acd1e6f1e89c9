// How DATA is read, the same wherever data is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/data.h"

namespace plimsoll::job {

struct DataSettings {
  std::string part;
  std::string cache;
  std::string images;
  std::string label_map;
  std::string record_image;
  std::string record_label;
  std::string record_boxes;
  std::optional<std::int64_t> first_label;
  std::string read_as;

  // How DATA is read. UsageError if --read-as is unknown.
  SourceOptions source_options() const;
  // How `validation`, which --val names, is read beside `train` from DATA: by its classes, and of a
  // set in parts the one to validate on. --part is about DATA.
  SourceOptions validation_options(const std::string& data, const std::string& validation,
                                   const Source& train) const;
  // How DATA itself is read again where it has a part to validate on and nothing else was asked
  // for: the part val, and the test part of fashion-mnist.
  std::optional<SourceOptions> own_validation(const std::string& data, const Source& train) const;
};

}  // namespace plimsoll::job
