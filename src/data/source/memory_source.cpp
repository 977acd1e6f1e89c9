#include "data/source/memory_source.h"

#include <utility>

#include "data/source/annotations.h"

namespace plimsoll {
namespace {

class MemorySource final : public ListedSource {
 public:
  MemorySource(Images images, std::string where, std::string kind)
      : images_(std::move(images)), where_(std::move(where)) {
    class_names_ = std::move(images_.class_names);
    for (const std::int32_t label : images_.labels) annotations_.add_label(label);
    images_.labels = {};
    index_.kind = std::move(kind);
    index_.files = 2;
    index_.encoded = Bytes{std::ssize(images_.pixels)};
    index_.memory = index_.encoded;
    finish_index();
  }

  std::string where(std::int64_t i) const override {
    return where_ + ", image " + std::to_string(i);
  }
  std::string path(std::int64_t) const override { return where_; }

  Encoded read(std::int64_t i, MappedBytes&) const override {
    const auto size = static_cast<std::size_t>(images_.pixels_per_image());
    return {.bytes = std::as_bytes(
                std::span(images_.pixels).subspan(static_cast<std::size_t>(i) * size, size)),
            .raw = Encoded::Pixels{.height = static_cast<std::int32_t>(images_.height),
                                   .width = static_cast<std::int32_t>(images_.width),
                                   .channels = static_cast<std::int32_t>(images_.channels)}};
  }

 private:
  Images images_;
  std::string where_;
};

}  // namespace

SourcePtr make_memory_source(Images images, std::string where, std::string kind) {
  return std::make_shared<MemorySource>(std::move(images), std::move(where), std::move(kind));
}

}  // namespace plimsoll
