#include "job/data_settings.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll::job {

SourceOptions DataSettings::source_options() const {
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

SourceOptions DataSettings::validation_options(const std::string& data,
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

std::optional<SourceOptions> DataSettings::own_validation(const std::string& data,
                                                          const Source& train) const {
  const bool has_val =
      train.index().part == "train" && std::ranges::count(train.index().parts, "val") > 0;
  if (!part.empty() || (data != "fashion-mnist" && !has_val)) return std::nullopt;
  return validation_options(data, data, train);
}

}  // namespace plimsoll::job
