// A folder of small generated images, a sub-folder per class, and sources that misbehave.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "data/batch/pipeline.h"
#include "data/source/open_source.h"
#include "tests/support/record_writer.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

// `classes` folders c0, c1, ... of `each` BMP files 00.bmp, 01.bmp, ..., of different sizes.
class ImageFolder {
 public:
  ImageFolder(int classes, int each) {
    for (int c = 0; c < classes; ++c)
      for (int i = 0; i < each; ++i) {
        const int n = c * each + i;
        folder_.put(name(c, i), bmp_image(16 + n % 7, 12 + n % 5, static_cast<unsigned>(n)));
      }
  }
  static std::string name(int c, int i) {
    return "c" + std::to_string(c) + "/" + (i < 10 ? "0" : "") + std::to_string(i) + ".bmp";
  }
  std::filesystem::path file(int c, int i) const { return folder_ / name(c, i); }
  const TemporaryFolder& folder() const { return folder_; }
  SourcePtr open() const { return open_source(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

// Passes everything on to another source, after calling `before` for each read.
class TappedSource final : public Source {
 public:
  TappedSource(SourcePtr inner, std::function<void(std::int64_t)> before)
      : inner_(std::move(inner)), before_(std::move(before)) {}

  std::int64_t size() const override { return inner_->size(); }
  const std::vector<std::string>& class_names() const override { return inner_->class_names(); }
  bool has_boxes() const override { return inner_->has_boxes(); }
  std::int32_t label(std::int64_t i) const override { return inner_->label(i); }
  std::span<const Box> boxes(std::int64_t i) const override { return inner_->boxes(i); }
  Size annotated_size(std::int64_t i) const override { return inner_->annotated_size(i); }
  std::string where(std::int64_t i) const override { return inner_->where(i); }
  std::string path(std::int64_t i) const override { return inner_->path(i); }
  Encoded read(std::int64_t i, MappedBytes& buffer) const override {
    before_(i);
    return inner_->read(i, buffer);
  }
  const Index& index() const override { return inner_->index(); }
  const std::vector<Complaint>& defects() const override { return inner_->defects(); }

 private:
  SourcePtr inner_;
  std::function<void(std::int64_t)> before_;
};

}  // namespace plimsoll
