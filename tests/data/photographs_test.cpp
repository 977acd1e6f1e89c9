// Pictures of strangers: every kind and size, in memory that is there before the first of them.
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/image_folder.h"
#include "tests/support/photographs.h"
#include "tests/support/small_pipeline.h"

namespace plimsoll {
namespace {

class Photographs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_photographs(folder_->path(), 32, 2, 2);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static SourcePtr open() { return open_source(folder_->path().string()); }

 private:
  static inline TemporaryFolder* folder_ = nullptr;
};

// Files that are in memory already: reading them allocates nothing.
class HeldSource final : public Source {
 public:
  explicit HeldSource(SourcePtr inner) : inner_(std::move(inner)) {
    for (std::int64_t i = 0; i < inner_->size(); ++i)
      files_.push_back(read_file(inner_->path(i), 64_MiB));
  }
  std::int64_t size() const override { return inner_->size(); }
  const std::vector<std::string>& class_names() const override { return inner_->class_names(); }
  bool has_boxes() const override { return false; }
  std::int32_t label(std::int64_t i) const override { return inner_->label(i); }
  std::span<const Box> boxes(std::int64_t) const override { return {}; }
  Size annotated_size(std::int64_t) const override { return {}; }
  std::string where(std::int64_t i) const override { return inner_->where(i); }
  std::string path(std::int64_t i) const override { return inner_->path(i); }
  Encoded read(std::int64_t i, MappedBytes&) const override {
    return {.bytes = std::as_bytes(std::span(files_[static_cast<std::size_t>(i)])), .raw = {}};
  }
  const Index& index() const override { return inner_->index(); }
  const std::vector<Complaint>& defects() const override { return inner_->defects(); }

 private:
  SourcePtr inner_;
  std::vector<std::string> files_;
};

TEST_F(Photographs, AreDecodedAndTransformedWithoutAnAllocationAfterTheFirstBatch) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers own malloc";
  const auto source = std::make_shared<HeldSource>(open());
  const LargestImage largest = scan(*source, {.workers = 2}).largest;
  for (const char* augment :
       {"", "random_resized_crop,horizontal_flip,rotation_range=20,mixup=0.2"}) {
    PipelineSettings settings = small_settings();
    settings.shuffle = true;
    if (*augment != '\0') settings.augment = parse_augment(augment);
    Pipeline pipeline(source, settings, largest);
    pipeline.start(0, 0);
    ASSERT_TRUE(pipeline.next());
    const std::int64_t before = allocations_so_far();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(pipeline.next());
    EXPECT_EQ(allocations_so_far(), before) << "with augmentation '" << augment << "'";
  }
}

TEST_F(Photographs, OfOneKindNeedNoRoomOfAnother) {
  // What a baseline JPEG needs follows its width; what a progressive one needs, its pixels.
  const Picture large = make_photograph({.height = 1500, .width = 4000}, 1);
  const auto need = [&](PhotographKind kind) {
    const std::string bytes = encode_photograph(large, kind);
    return decode_bytes(probe_image(std::as_bytes(std::span(bytes)), "x"), {});
  };
  EXPECT_LT(need(PhotographKind::baseline_jpeg), 1_MiB);
  EXPECT_LT(need(PhotographKind::cmyk_jpeg), 2_MiB);
  EXPECT_LT(need(PhotographKind::png), 1_MiB);
  EXPECT_GT(need(PhotographKind::progressive_jpeg), 16_MiB);
  EXPECT_GT(need(PhotographKind::interlaced_png), 16_MiB);
}

TEST_F(Photographs, AreTheSamePixelsInAnyOrderOfTheirSizes) {
  const SourcePtr source = open();
  const LargestImage largest = scan(*source, {.workers = 2}).largest;
  const auto pictures = [&](int workers) {
    PipelineSettings settings = small_settings();
    settings.workers = workers;
    Pipeline pipeline(source, settings, largest);
    pipeline.start(0, 0);
    return read(pipeline, 12);
  };
  const Seen one = pictures(1);
  EXPECT_EQ(one, pictures(3));
  Decoder decoder;
  Picture picture;
  const PipelineSettings settings = small_settings();
  Transformer transformer(settings.image, settings.channels, settings.interpolation);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(settings.picture_bytes()));
  for (std::size_t k = 0; k < one.samples.size(); ++k) {
    const std::string bytes = read_file(source->path(one.samples[k]), 64_MiB);
    decoder.decode(std::as_bytes(std::span(bytes)), "x", {}, picture);
    transformer.run(picture, {}, {0, 0, picture.width, picture.height}, {}, pixels.data());
    EXPECT_TRUE(
        std::ranges::equal(pixels, std::span(one.pixels).subspan(k * pixels.size(), pixels.size())))
        << source->path(one.samples[k]);
  }
}

}  // namespace
}  // namespace plimsoll
