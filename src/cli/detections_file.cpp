#include "cli/detections_file.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <utility>

#include "data/source/file_source.h"

namespace plimsoll::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{64} * 1024;

// What the data itself calls its pictures and classes.
struct Ids {
  explicit Ids(const Source& source) {
    const Source* listed = &source;
    while (listed->whole() != nullptr) listed = listed->whole();
    if (const auto* files = dynamic_cast<const FileSource*>(listed)) {
      images = files->image_ids();
      classes = files->class_ids();
    }
  }
  std::int64_t image(std::int64_t number) const {
    return images.empty() ? number + 1 : images[static_cast<std::size_t>(number)];
  }
  std::int64_t category(std::int32_t label) const {
    return std::cmp_less(label, classes.size()) ? classes[static_cast<std::size_t>(label)]
                                                : label + 1;
  }

  std::span<const std::int64_t> images, classes;
};

}  // namespace

DetectionsFile::DetectionsFile(const std::filesystem::path& path) : file_(path) {
  text_.reserve(2 * kPiece);
}

void DetectionsFile::flush() {
  file_.write(text_);
  text_.clear();
}

void DetectionsFile::add(const StepTensors& results, const Batch& batch) {
  const Ids ids(*batch.source);
  for (std::int64_t i = 0; i < batch.count; ++i) {
    const std::int64_t sample = batch.samples[static_cast<std::size_t>(i)];
    find_in(results, batch, i, found_);
    for (const boxes::FoundBox& one : found_) {
      fmt::format_to(
          std::back_inserter(text_),
          "{}\n{{\"image_id\":{},\"category_id\":{},\"bbox\":[{},{},{},{}],\"score\":{}}}",
          std::exchange(first_, false) ? "[" : ",", ids.image(batch.source->number(sample)),
          ids.category(one.label), one.x, one.y, one.width, one.height, one.score);
      if (text_.size() >= kPiece) flush();
    }
  }
}

void DetectionsFile::finish() {
  text_ += first_ ? "[]\n" : "\n]\n";
  flush();
  file_.commit();
}

}  // namespace plimsoll::cli
